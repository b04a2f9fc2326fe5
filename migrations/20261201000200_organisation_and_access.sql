-- The organisation, its people, their log-ins, its projects.

-- One row: one installation serves one organisation.
create table organisation (
    id                 bigint not null default 1,
    name               text not null,
    -- The zone of every day: terms, deadlines, months.
    zone               text not null,
    -- The house currency of totals; it never converts without a dated rate.
    currency           text not null,
    locale             text not null,
    -- Reminders leave at this local hour.
    send_at            time not null default '09:00',
    reminder_steps     integer[] not null default '{15,7,3,1,0}',
    version            integer not null default 1,
    constraint organisation_pkey primary key (id),
    constraint organisation_one check (id = 1),
    constraint organisation_locale check (locale in ('zh-CN', 'en')),
    constraint organisation_reminder_steps check (array_length(reminder_steps, 1) between 1 and 12 and 0 <= all (reminder_steps) and 366 >= all (reminder_steps))
);
select app_record('organisation');

-- Somebody named in the ledger; a log-in is optional.
create table person (
    id          bigint generated always as identity,
    name        text not null,
    email       text,
    -- Null: the organisation's.
    locale      text,
    zone        text,
    version     integer not null default 1,
    created_at  timestamptz not null,
    constraint person_pkey primary key (id),
    constraint person_name check (name <> ''),
    constraint person_locale check (locale in ('zh-CN', 'en'))
);
create unique index person_email on person (lower(email));
create index person_name on person (name, id);
select app_record('person');

-- A person's log-in. The right to sign in ends by disabling it; it is never deleted.
create table user_account (
    id             bigint generated always as identity,
    person_id      bigint not null references person,
    role           text not null,
    -- Administrators always; auditors of everything; members who operate every project.
    all_projects   boolean not null default false,
    -- An Argon2id PHC string; null until the person has chosen a password.
    password_hash  text,
    disabled_at    timestamptz,
    version        integer not null default 1,
    created_at     timestamptz not null,
    constraint user_account_pkey primary key (id),
    constraint user_account_person unique (person_id),
    constraint user_account_role check (role in ('administrator', 'auditor', 'member')),
    constraint user_account_administrator check (role <> 'administrator' or all_projects)
);
select app_record('user_account');

-- A filter of a list that a person keeps under a name.
create table saved_filter (
    id          bigint generated always as identity,
    user_id     bigint not null references user_account,
    of_list     text not null,
    name        text not null,
    -- As it stands in an address, from the ? on.
    query       text not null,
    -- Kept no more from then on; the row stays.
    ended_at    timestamptz,
    version     integer not null default 1,
    created_at  timestamptz not null,
    constraint saved_filter_pkey primary key (id),
    constraint saved_filter_of_list check (of_list in ('environments', 'ledger', 'renewals'))
);
create unique index saved_filter_name_taken on saved_filter (user_id, of_list, name) where ended_at is null;
select app_record('saved_filter');

-- The form by which two names are the same: without regard to the case of Latin letters and to full or half width, so that
-- an import does not make a second one of what is there. The collation makes it the same in every database.
create function app_name_key(name text) returns text
    language sql immutable strict parallel safe
    return lower(normalize(name, nfkc) collate "C");

create table project (
    id              bigint generated always as identity,
    name            text not null,
    cost_centre     text,
    -- The last day it runs, where it has one.
    ends_on         date,
    -- Null: the organisation's.
    reminder_steps  integer[],
    note            text not null default '',
    version         integer not null default 1,
    created_at      timestamptz not null,
    constraint project_pkey primary key (id),
    constraint project_reminder_steps check (reminder_steps is null or (array_length(reminder_steps, 1) between 1 and 12 and 0 <= all (reminder_steps) and 366 >= all (reminder_steps)))
);
create unique index project_name on project (app_name_key(name));
select app_record('project');
select app_scope('project', 'id = any ((select app_projects())::bigint[])');

create table membership (
    id          bigint generated always as identity,
    project_id  bigint not null references project,
    user_id     bigint not null references user_account,
    role        text not null,
    -- A membership ends by this, so that its history stays.
    ended_at    timestamptz,
    version     integer not null default 1,
    created_at  timestamptz not null,
    constraint membership_pkey primary key (id),
    constraint membership_role check (role in ('manager', 'operator', 'viewer'))
);
create unique index membership_one on membership (project_id, user_id) where ended_at is null;
create index membership_user on membership (user_id);
select app_record('membership');
select app_scope('membership', 'project_id = any ((select app_projects())::bigint[])');

-- A browser that is signed in. Only the hash of the cookie's token is kept.
create table session (
    token_hash   bytea not null,
    user_id      bigint not null references user_account,
    created_at   timestamptz not null,
    seen_at      timestamptz not null,
    user_agent   text not null,
    address      text not null,
    constraint session_pkey primary key (token_hash)
);
create index session_by_user on session (user_id, seen_at);
select app_machine('session');

-- A link that works once: to set up the first administrator, to choose a password. Only the hash of its token is kept.
create table one_time_link (
    token_hash  bytea not null,
    purpose     text not null,
    user_id     bigint references user_account,
    expires_at  timestamptz not null,
    used_at     timestamptz,
    constraint one_time_link_pkey primary key (token_hash),
    constraint one_time_link_purpose check (purpose in ('set_up', 'choose_password')),
    constraint one_time_link_user check ((purpose = 'set_up') = (user_id is null))
);
select app_machine('one_time_link');

-- Failed sign-ins, counted per account, network and known device, shared by all instances.
create table sign_in_failure (
    subject  text not null,
    at       timestamptz not null
);
create index sign_in_failure_subject on sign_in_failure (subject, at);
select app_machine('sign_in_failure');

-- A browser in which a person has signed in before: its failures are counted apart, so that nobody is shut out by a stranger
-- who tries the same address. Only the hash of its token is kept; it signs nobody in.
create table device (
    token_hash  bytea not null,
    user_id     bigint not null references user_account,
    used_at     timestamptz not null,
    constraint device_pkey primary key (token_hash)
);
create index device_by_user on device (user_id, used_at);
select app_machine('device');

-- A form that was sent: the same submit_id twice is one act, answered with the same place.
create table submission (
    submit_id   uuid not null,
    -- Who sent it: another person's id of the same value is another act.
    actor       text not null,
    location    text not null,
    at          timestamptz not null,
    constraint submission_pkey primary key (submit_id, actor)
);
create index submission_at on submission (at);
select app_machine('submission');

-- Who is behind a session's token, in one round trip. It runs before any scope can be known, so it brings its own: the
-- one place where the second fence is lifted, for one person's own memberships.
create function app_signed_in(token bytea)
    returns table (user_id bigint, person_id bigint, name text, email text, locale text, zone text, role text,
                   all_projects boolean, created_at timestamptz, seen_at timestamptz, memberships jsonb,
                   organisation text, organisation_zone text, organisation_locale text)
    language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
    scope_before text := coalesce(current_setting('app.all_projects', true), '');
begin
    perform set_config('app.all_projects', 'yes', true);
    return query
        select u.id, p.id, p.name, p.email, p.locale, p.zone, u.role, u.all_projects, s.created_at, s.seen_at,
               coalesce((select jsonb_agg(jsonb_build_object('project', m.project_id, 'role', m.role))
                         from membership m where m.user_id = u.id and m.ended_at is null), '[]'),
               o.name, o.zone, o.locale
        from session s
        cross join organisation o
        join user_account u on u.id = s.user_id
        join person p on p.id = u.person_id
        where s.token_hash = token and u.disabled_at is null;
    perform set_config('app.all_projects', scope_before, true);
end;
$$;
revoke all on function app_signed_in(bytea) from public;
grant execute on function app_signed_in(bytea) to rentroll_app;
