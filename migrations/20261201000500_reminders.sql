-- A reminder is a row with a unique key that exists before anything is sent.

create table reminder (
    id              bigint generated always as identity,
    project_id      bigint references project,
    deadline_id     bigint not null references deadline,
    -- The deadline's date when this was planned: a moved date is another reminder.
    deadline_on     date not null,
    -- Days before; negative are days after.
    step            integer not null,
    person_id       bigint not null references person,
    -- The day it leaves, in the organisation's zone.
    due_on          date not null,
    withdrawn_at    timestamptz,
    -- The delivery that carries it (several reminders of one environment and person share one mail).
    delivery_id     uuid,
    created_at      timestamptz not null,
    constraint reminder_pkey primary key (id),
    constraint reminder_key unique (deadline_id, deadline_on, step, person_id)
);
create index reminder_due on reminder (due_on) where withdrawn_at is null;
create index reminder_delivery on reminder (delivery_id);
create index reminder_person on reminder (person_id);
select app_machine('reminder');
select app_scope('reminder', 'project_id = any ((select app_projects())::bigint[])');

-- One try chain to one person about one environment. Who holds the lease may speak SMTP; only the database's clock ends it.
create table delivery (
    id              uuid not null,
    project_id      bigint references project,
    environment_id  bigint,
    person_id       bigint not null references person,
    channel         text not null default 'mail',
    -- The delivery that bounced, which this one tells somebody else about.
    escalates       uuid,
    -- The day of the run that made it.
    run_on          date not null,
    state           text not null default 'pending',
    -- Read from the person when the delivery is claimed.
    address         text,
    attempts        integer not null default 0,
    -- Times that nobody can say whether the server took it.
    ambiguous       integer not null default 0,
    next_at         timestamptz not null,
    -- The first try of this chain: it is given up some days after it.
    tried_since     timestamptz,
    lease_token     uuid,
    lease_until     timestamptz,
    -- What the server said last; 'outbox' while it waits in the folder because no mail server is set up.
    reply           text,
    sent_at         timestamptz,
    created_at      timestamptz not null,
    -- Whether it can still be tried. A lease does not change it, and so touches no index.
    open            boolean not null generated always as (state in ('pending', 'leased')) stored,
    constraint delivery_pkey primary key (id),
    constraint delivery_environment foreign key (project_id, environment_id) references environment (project_id, id),
    constraint delivery_escalates foreign key (escalates) references delivery,
    constraint delivery_state check (state in ('pending', 'leased', 'sent', 'bounced', 'cancelled', 'dead')),
    constraint delivery_lease check ((state = 'leased') = (lease_token is not null)),
    constraint delivery_sent check ((state = 'sent') = (sent_at is not null))
) with (fillfactor = 60);
create unique index delivery_escalated_once on delivery (escalates, person_id) where escalates is not null;
create index delivery_next on delivery (next_at, id) where open;
create index delivery_given_up on delivery (created_at) where state in ('dead', 'bounced');
create index delivery_person on delivery (person_id, created_at desc);
create index delivery_environment on delivery (environment_id, created_at desc);
alter table reminder add constraint reminder_delivery_id foreign key (delivery_id) references delivery;
select app_machine('delivery');
select app_scope('delivery', 'project_id = any ((select app_projects())::bigint[])');

-- What was written last: evidence, and the same bytes where a copy has to be sent. Apart from the delivery, whose row changes
-- with every try.
create table delivery_message (
    delivery_id  uuid not null references delivery,
    -- The delivery's.
    project_id   bigint,
    subject      text not null,
    body_text    text not null,
    body_html    text not null,
    written_at   timestamptz not null,
    constraint delivery_message_pkey primary key (delivery_id)
);
select app_machine('delivery_message');
select app_scope('delivery_message', 'project_id = any ((select app_projects())::bigint[])');

-- What the mail server said, every time.
create table attempt (
    id           bigint generated always as identity,
    -- The delivery's.
    project_id   bigint,
    delivery_id  uuid not null references delivery,
    worker       text not null,
    started_at   timestamptz not null,
    finished_at  timestamptz not null,
    phase        text not null,
    outcome      text not null,
    reply        text not null,
    constraint attempt_pkey primary key (id),
    constraint attempt_outcome check (outcome in ('sent', 'retry', 'bounced', 'configuration', 'ambiguous', 'late_finish', 'cancelled', 'outbox'))
);
create index attempt_delivery on attempt (delivery_id, id);
select app_ledger('attempt');
select app_scope('attempt', 'project_id = any ((select app_projects())::bigint[])');

-- What a job did, in a form that people can read.
create table job_run (
    id           bigint generated always as identity,
    job          text not null,
    started_at   timestamptz not null,
    finished_at  timestamptz,
    as_of        date,
    worker       text not null,
    checked      bigint not null default 0,
    matched      bigint not null default 0,
    done         bigint not null default 0,
    failed       bigint not null default 0,
    -- Why what was matched was not done: {"reason": count}.
    skipped      jsonb not null default '{}',
    error        text,
    -- Idle runs fold into one row per job and hour.
    runs         integer not null default 1,
    constraint job_run_pkey primary key (id)
);
create index job_run_job on job_run (job, started_at desc);
select app_machine('job_run');

-- Who is named on an environment and can be reached, each part with its person.
create view environment_named with (security_invoker = true) as
    select e.id as environment_id, e.project_id, n.person_id, n.part
    from environment e
    cross join lateral (values (e.owner_id, 'owner'), (e.checker_id, 'checker')) as n (person_id, part)
    join person p on p.id = n.person_id
    where p.email is not null
    union all
    select w.environment_id, w.project_id, w.person_id, 'watcher'
    from environment_watcher w join person p on p.id = w.person_id
    where w.ended_at is null and p.email is not null;
grant select on environment_named to rentroll_app;

-- Who may be told in the place of somebody who cannot be reached: a project's managers, and the administrators.
create view person_in_charge with (security_invoker = true) as
    select m.project_id, u.person_id, 'manager' as reach
    from membership m
    join user_account u on u.id = m.user_id
    join person p on p.id = u.person_id
    where m.role = 'manager' and m.ended_at is null and u.disabled_at is null and p.email is not null
    union all
    select p.id, u.person_id, 'administrator'
    from project p
    cross join user_account u
    join person a on a.id = u.person_id
    where u.role = 'administrator' and u.disabled_at is null and a.email is not null;
grant select on person_in_charge to rentroll_app;

-- Who is told about an environment: everybody named on it, else the project's managers, else the administrators. The same
-- rule as `recipients` in src/deadlines/plan.rs; a test compares them.
create view environment_recipient with (security_invoker = true) as
    select distinct n.environment_id, n.project_id, n.person_id, 'named' as reach
    from environment_named n
    union all
    select e.id, e.project_id, c.person_id, c.reach
    from environment e
    join person_in_charge c on c.project_id = e.project_id
    where not exists (select 1 from environment_named n where n.environment_id = e.id)
      and (c.reach = 'manager' or not exists (
          select 1 from person_in_charge m where m.project_id = e.project_id and m.reach = 'manager'));
grant select on environment_recipient to rentroll_app;
