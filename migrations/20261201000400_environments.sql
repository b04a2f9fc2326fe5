-- What is rented, from when to when, and every date with a consequence.
-- Foreign keys carry the project, so that no row can point into another project.

create table environment (
    id              bigint generated always as identity,
    project_id      bigint not null references project,
    name            text not null,
    kind            text not null default 'instance',
    provider_id     bigint not null references provider,
    tier_id         bigint not null,
    scenario        text,
    owner_id        bigint references person,
    checker_id      bigint references person,
    priority        text not null default 'normal',
    labels          jsonb not null default '{}',
    -- How many units of the tier are in use now; its changes are in scale_change.
    quantity        numeric not null default 1,
    -- Null: the project's, then the organisation's.
    reminder_steps  integer[],
    -- The day of the month that the chain of terms keeps (31 January, 28 February, 31 March).
    anchor_day      integer,
    note            text not null default '',
    status          text not null default 'active',
    -- The last day of use, once it is ended.
    ended_on        date,
    version         integer not null default 1,
    created_at      timestamptz not null,
    constraint environment_pkey primary key (id),
    constraint environment_in_project unique (project_id, id),
    constraint environment_tier foreign key (provider_id, tier_id) references tier (provider_id, id),
    constraint environment_name check (name <> ''),
    constraint environment_kind check (kind in ('instance', 'pool', 'service', 'line', 'storage', 'maintenance', 'voucher')),
    constraint environment_priority check (priority in ('core', 'normal', 'low')),
    constraint environment_quantity check (quantity > 0),
    constraint environment_anchor_day check (anchor_day between 1 and 31),
    constraint environment_status check (status in ('active', 'ended', 'voided')),
    constraint environment_ended check ((status = 'ended') = (ended_on is not null)),
    constraint environment_reminder_steps check (reminder_steps is null or (array_length(reminder_steps, 1) between 1 and 12 and 0 <= all (reminder_steps) and 366 >= all (reminder_steps)))
);
-- A name is taken while its environment is in use; one opened by mistake and voided gives it back.
create unique index environment_name_taken on environment (project_id, name) where status <> 'voided';
create index environment_status on environment (status, project_id);
create index environment_owner on environment (owner_id);
create index environment_tier_id on environment (tier_id);
select app_record('environment');
select app_scope('environment', 'project_id = any ((select app_projects())::bigint[])');

create table environment_watcher (
    id              bigint generated always as identity,
    project_id      bigint not null,
    environment_id  bigint not null,
    person_id       bigint not null references person,
    -- A watcher is taken off by this, so that the history stays.
    ended_at        timestamptz,
    constraint environment_watcher_pkey primary key (id),
    constraint environment_watcher_environment foreign key (project_id, environment_id) references environment (project_id, id)
);
create unique index environment_watcher_one on environment_watcher (environment_id, person_id) where ended_at is null;
select app_record('environment_watcher');
select app_scope('environment_watcher', 'project_id = any ((select app_projects())::bigint[])');

create table term (
    id              bigint generated always as identity,
    project_id      bigint not null,
    environment_id  bigint not null,
    -- 1 for the first of the chain.
    number          integer not null,
    starts_on       date not null,
    -- The last day, included; null is open-ended.
    ends_on         date,
    -- Null: once.
    cycle_months    integer,
    renewal         text not null default 'on_request',
    notice_months   integer not null default 0,
    notice_days     integer not null default 0,
    quantity        numeric not null default 1,
    -- For one unit of the tier and one cycle; null is unknown, never zero.
    price           numeric,
    currency        text,
    version         integer not null default 1,
    created_at      timestamptz not null,
    constraint term_pkey primary key (id),
    constraint term_number unique (environment_id, number),
    constraint term_in_project unique (project_id, id),
    constraint term_environment foreign key (project_id, environment_id) references environment (project_id, id),
    constraint term_days check (ends_on >= starts_on),
    constraint term_cycle check (cycle_months between 1 and 120),
    constraint term_renewal check (renewal in ('automatic', 'on_request', 'never')),
    constraint term_notice check (notice_months between 0 and 120 and notice_days between 0 and 1000),
    constraint term_quantity check (quantity > 0),
    constraint term_price check (price >= 0),
    constraint term_currency check ((price is null) or (currency is not null)),
    constraint term_no_overlap exclude using gist (
        int8range(environment_id, environment_id, '[]') with &&, daterange(starts_on, ends_on, '[]') with &&)
);
create index term_environment_days on term (environment_id, starts_on);
create index term_ends_on on term (ends_on);
select app_record('term');
select app_scope('term', 'project_id = any ((select app_projects())::bigint[])');

-- Every change of quantity, with who and why in the history.
create table scale_change (
    id              bigint generated always as identity,
    project_id      bigint not null,
    environment_id  bigint not null,
    -- The first day of the new quantity.
    changes_on      date not null,
    quantity_before numeric not null,
    quantity_after  numeric not null,
    reason          text not null default '',
    person_name     text not null,
    created_at      timestamptz not null,
    constraint scale_change_pkey primary key (id),
    constraint scale_change_environment foreign key (project_id, environment_id) references environment (project_id, id),
    constraint scale_change_quantity check (quantity_after > 0)
);
create index scale_change_environment on scale_change (environment_id, changes_on desc, id desc);
select app_ledger('scale_change');
select app_scope('scale_change', 'project_id = any ((select app_projects())::bigint[])');

-- Any date with a consequence. Every context sets its own; one engine reminds of all kinds.
create table deadline (
    id              bigint generated always as identity,
    kind            text not null,
    -- Null: the organisation's own.
    project_id      bigint references project,
    environment_id  bigint,
    term_id         bigint,
    due_on          date not null,
    -- Why nothing is due any more; null while it is open.
    closed          text,
    version         integer not null default 1,
    created_at      timestamptz not null,
    constraint deadline_pkey primary key (id),
    constraint deadline_environment foreign key (project_id, environment_id) references environment (project_id, id),
    constraint deadline_term foreign key (project_id, term_id) references term (project_id, id),
    constraint deadline_one unique nulls not distinct (kind, project_id, environment_id, term_id),
    constraint deadline_kind check (kind in ('expiry', 'cancel_by')),
    constraint deadline_closed check (closed in ('renewed', 'ended', 'voided', 'withdrawn', 'done'))
);
create index deadline_open on deadline (due_on) where closed is null;
create index deadline_environment on deadline (environment_id);
select app_record('deadline');
select app_scope('deadline', 'project_id = any ((select app_projects())::bigint[])');
