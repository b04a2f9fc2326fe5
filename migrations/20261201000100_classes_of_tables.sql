-- The three classes of table, and the functions that give each its fences.
--
-- Every later migration creates a table and then says what it is, in one line:
--
--   select app_ledger('spend');    -- append-only: no update, no delete, no truncate, by anyone
--   select app_record('project');  -- people edit it: every change is audited
--   select app_machine('session'); -- the program's own bookkeeping: no audit entries
--
-- and, where its rows belong to a project,
--
--   select app_scope('environment', 'project_id = any ((select app_projects())::bigint[])');
--
-- which turns on forced row-level security: no scope set means no rows.

-- The scope of the transaction, as the program set it. Unset means: nothing.
create function app_projects() returns bigint[]
    language sql stable parallel safe
    return coalesce(nullif(current_setting('app.projects', true), '')::bigint[], '{}');

-- "All projects" is a setting of its own, not a list.
create function app_all_projects() returns boolean
    language sql stable parallel safe
    return coalesce(current_setting('app.all_projects', true) = 'yes', false);

-- Whether the program marked this transaction as its own. What is not marked is a change from outside.
create function app_marked() returns boolean
    language sql stable parallel safe
    return coalesce(current_setting('app.marked', true) = 'yes', false);

create function app_refuse_change() returns trigger
    language plpgsql as $$
begin
    raise exception '% is append-only: % refused; a correction is a reversal and a new entry', tg_table_name, tg_op
        using errcode = 'insufficient_privilege';
end;
$$;

-- The audit table comes first, because every other table's fences lean on it.
create table audit_entry (
    id           bigint generated always as identity,
    -- The order for sealing is (xid, id) below the oldest running transaction; see model of the history in ARCHITECTURE.md.
    xid          xid8 not null default pg_current_xact_id(),
    at           timestamptz not null,
    -- The date a job pretended it was, where it did.
    as_of        date,
    source       text not null,
    actor_kind   text not null,
    actor_id     bigint,
    -- The name at that time: it survives the person's account.
    actor_name   text not null,
    action       text not null,
    object_kind  text not null,
    object_id    bigint,
    object_name  text not null,
    project_id   bigint,
    -- Readable by everyone who signed in: catalogue things that belong to no project.
    shared       boolean not null default false,
    reason       text,
    request_id   uuid not null,
    -- The canonical JSON, made once. Nothing is ever re-serialised to be checked.
    bytes        bytea not null,
    constraint audit_entry_pkey primary key (id),
    constraint audit_entry_source check (source in ('page', 'api', 'import', 'command_line', 'job', 'mail_link', 'database')),
    constraint audit_entry_actor_kind check (actor_kind in ('person', 'command_line', 'job', 'token', 'mail_link', 'database', 'setup'))
);
create index audit_entry_object on audit_entry (object_kind, object_id, id desc);
create index audit_entry_project on audit_entry (project_id, id desc);
create index audit_entry_actor on audit_entry (actor_name, id desc);
create index audit_entry_action on audit_entry (action, id desc);
create index audit_entry_request on audit_entry (request_id);
create index audit_entry_at on audit_entry (at desc, id desc);

-- Personal data that an entry only holds a salted digest of. A lawful erasure deletes rows here, and the history stays provable.
create table audit_private (
    digest  bytea not null,
    salt    bytea not null,
    value   text not null,
    constraint audit_private_pkey primary key (digest),
    constraint audit_private_value unique (value)
);

-- Secrets never enter the history, and addresses only as digests (which need the program): what is left says that there was one.
create function app_withheld(image jsonb) returns jsonb
    language sql immutable as $$
    select image || coalesce((select jsonb_object_agg(key, '(withheld)') from jsonb_each(image)
                              where key in ('email', 'password_hash', 'token_hash') and value <> 'null'), '{}')
$$;

-- A change that the program did not make (psql, another tool) becomes history too, under the database user's name.
create function app_record_outside_change() returns trigger
    language plpgsql security definer set search_path = public, pg_temp as $$
declare
    old_row jsonb := case when tg_op = 'INSERT' then null else app_withheld(to_jsonb(old)) end;
    new_row jsonb := case when tg_op = 'DELETE' then null else app_withheld(to_jsonb(new)) end;
    -- A partition's change is its table's change.
    kind text := coalesce((select parent.relname from pg_inherits i join pg_class parent on parent.oid = i.inhparent
                           where i.inhrelid = tg_relid limit 1), tg_table_name);
    row_now jsonb := coalesce(new_row, old_row);
    project bigint := case when kind = 'project' then (row_now ->> 'id')::bigint else (row_now ->> 'project_id')::bigint end;
    entry jsonb;
begin
    entry := jsonb_build_object(
        'version', 1,
        'at', to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'source', 'database',
        'actor', jsonb_build_object('kind', 'database', 'name', session_user),
        'action', kind || '.' || lower(tg_op),
        'object', jsonb_build_object('kind', kind, 'id', row_now -> 'id'),
        'before', old_row,
        'after', new_row);
    insert into audit_entry (at, source, actor_kind, actor_name, action, object_kind, object_id, object_name, project_id,
                             request_id, bytes)
    values (clock_timestamp(), 'database', 'database', session_user, kind || '.' || lower(tg_op), kind,
            case when jsonb_typeof(row_now -> 'id') = 'number' then (row_now ->> 'id')::bigint end,
            coalesce(row_now ->> 'name', row_now ->> 'id', ''), project, gen_random_uuid(),
            convert_to(entry::text, 'utf8'));
    return null;
end;
$$;

create function app_watch(name text) returns void
    language plpgsql as $$
begin
    -- The condition is checked without entering the function, so a marked bulk insert pays almost nothing.
    execute format('create trigger %1$s_outside_change after insert or update or delete on %1$I
                    for each row when (not app_marked()) execute function app_record_outside_change()', name);
    execute format('alter table %I enable always trigger %I', name, name || '_outside_change');
end;
$$;

create function app_append_only(name text) returns void
    language plpgsql as $$
begin
    execute format('create trigger %1$s_no_truncate before truncate on %1$I
                    for each statement execute function app_refuse_change()', name);
    execute format('create trigger %1$s_no_delete before delete on %1$I
                    for each statement execute function app_refuse_change()', name);
    execute format('alter table %I enable always trigger %I', name, name || '_no_truncate');
    execute format('alter table %I enable always trigger %I', name, name || '_no_delete');
end;
$$;

create function app_no_update(name text) returns void
    language plpgsql as $$
begin
    execute format('create trigger %1$s_no_update before update on %1$I
                    for each statement execute function app_refuse_change()', name);
    execute format('alter table %I enable always trigger %I', name, name || '_no_update');
end;
$$;

create function app_ledger(name text) returns void
    language plpgsql as $$
begin
    perform app_append_only(name);
    perform app_no_update(name);
    if name <> 'audit_entry' then
        perform app_watch(name);
    end if;
    execute format('grant select, insert on %I to rentroll_app', name);
end;
$$;

-- Nothing that people edit is ever deleted: it ends, or it is voided.
create function app_record(name text) returns void
    language plpgsql as $$
begin
    perform app_append_only(name);
    perform app_watch(name);
    execute format('grant select, insert, update on %I to rentroll_app', name);
end;
$$;

create function app_machine(name text) returns void
    language plpgsql as $$
begin
    execute format('grant select, insert, update, delete on %I to rentroll_app', name);
end;
$$;

create function app_scope(name text, condition text) returns void
    language plpgsql as $$
begin
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    -- The sub-selects are evaluated once a statement, not once a row.
    execute format('create policy %1$s_scope on %1$I using ((select app_all_projects()) or %2$s)
                    with check ((select app_all_projects()) or %2$s)', name, condition);
end;
$$;

select app_ledger('audit_entry');
select app_scope('audit_entry', 'shared or project_id = any ((select app_projects())::bigint[])');
-- The trigger above writes for whoever changed the row; the owner's own insert must pass its own policy.
create policy audit_entry_outside on audit_entry for insert to public with check (source = 'database');
-- What belongs to no project (a sign-in, a person) is recorded by everyone who may do it, whatever projects they reach.
create policy audit_entry_no_project on audit_entry for insert to public with check (project_id is null);

select app_machine('audit_private');
