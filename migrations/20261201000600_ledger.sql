-- What it cost and what came of it. Shaped for ten million lines: month partitions, few indexes, rollups kept in the same
-- transaction, paging by key.

-- A file of bill lines. One import is one audit entry: the file's hash, counts, totals, a digest of the rows.
create table bill_import (
    id            bigint generated always as identity,
    provider_id   bigint not null references provider,
    file_name     text not null,
    file_sha256   bytea not null,
    file_bytes    bigint not null,
    format        text not null,
    rows_read     bigint not null,
    rows_new      bigint not null,
    rows_known    bigint not null,
    rows_missing  bigint not null,
    totals        jsonb not null,
    rows_digest   bytea not null,
    -- Where its lines are: these months, and no id outside this span. Null where it brought nothing new.
    periods       date[] not null,
    first_id      bigint,
    last_id       bigint,
    person_name   text not null,
    created_at    timestamptz not null,
    constraint bill_import_pkey primary key (id)
);
create index bill_import_provider on bill_import (provider_id, id desc);
select app_ledger('bill_import');
-- The lines name their import, which is written after them.
grant usage on sequence bill_import_id_seq to rentroll_app;

-- What a bill line charges for: (provider, account, id as the provider writes it). A line without an id gets a stand-in made of
-- its sub-account, service and category, so that every line can be bound.
create table resource (
    id            bigint generated always as identity,
    provider_id   bigint not null references provider,
    account       text not null,
    -- Empty for a stand-in.
    external_id   text not null,
    name          text not null default '',
    type          text not null default '',
    region        text not null default '',
    -- Only set for a stand-in.
    sub_account   text not null default '',
    service       text not null default '',
    category      text not null default '',
    created_at    timestamptz not null,
    constraint resource_pkey primary key (id),
    constraint resource_key unique (provider_id, account, external_id, sub_account, service, category)
);
create index resource_external on resource (external_id);
select app_record('resource');

-- Which environment a resource belongs to, from when to when (last day included).
create table binding (
    id              bigint generated always as identity,
    resource_id     bigint not null references resource,
    project_id      bigint not null,
    environment_id  bigint not null,
    starts_on       date not null,
    ends_on         date,
    -- A binding that was taken back; its dates bind nothing any more.
    withdrawn_at    timestamptz,
    version         integer not null default 1,
    created_at      timestamptz not null,
    constraint binding_pkey primary key (id),
    constraint binding_environment foreign key (project_id, environment_id) references environment (project_id, id),
    constraint binding_days check (ends_on >= starts_on),
    constraint binding_no_overlap exclude using gist (
        int8range(resource_id, resource_id, '[]') with &&, daterange(starts_on, ends_on, '[]') with &&)
        where (withdrawn_at is null)
);
create index binding_resource on binding (resource_id);
create index binding_environment_id on binding (environment_id);
select app_record('binding');
select app_scope('binding', 'project_id = any ((select app_projects())::bigint[])');
-- A resource is seen by those who see what it is bound to; unplaced ones by those who see all projects.
select app_scope('resource', 'exists (select 1 from binding b where b.resource_id = resource.id and b.withdrawn_at is null)');

create sequence spend_id;
grant usage on sequence spend_id to rentroll_app;

-- One line of cost. Its facts never change; its placement (environment, project) is the one thing that may, through bind and
-- unbind. Partitioned by period, so that a month's import touches a month's indexes.
create table spend (
    id              bigint not null default nextval('spend_id'),
    -- The first day of the ledger's month.
    period          date not null,
    provider_id     bigint not null,
    account         text not null default '',
    sub_account     text not null default '',
    resource_id     bigint,
    project_id      bigint,
    environment_id  bigint,
    service         text not null default '',
    -- FOCUS ChargeCategory.
    category        text not null,
    -- FOCUS ChargeClass: 'correction' corrects a period that was already invoiced.
    class           text,
    cost_kind       text,
    -- Half-open, as in FOCUS.
    charge_start    timestamptz not null,
    charge_end      timestamptz not null,
    -- The day of charge_start in the organisation's zone when it was recorded: dated rates and bindings go by it.
    charged_on      date not null,
    quantity        numeric,
    unit            text not null default '',
    -- Four costs as in FOCUS; null is unknown, never zero.
    list            numeric,
    contracted      numeric,
    billed          numeric,
    effective       numeric,
    currency        text not null,
    tax_included    boolean,
    tax_rate        numeric,
    description     text not null default '',
    tags            jsonb,
    import_id       bigint,
    -- Line number in the file.
    import_row      integer,
    -- Hash of the normalised columns and the ordinal among equals; null for what a person recorded.
    row_key         uuid,
    reverses_id     bigint,
    -- The entry in whose place it was recorded; that one was reversed in the same act.
    corrects_id     bigint,
    recorded_at     timestamptz not null,
    constraint spend_pkey primary key (period, id),
    constraint spend_row_key unique (period, row_key),
    -- One reversal per entry; a reversal keeps the period of what it reverses, or goes to the next open one.
    constraint spend_period check (extract(day from period) = 1),
    constraint spend_charge check (charge_end > charge_start),
    constraint spend_category check (category in ('usage', 'purchase', 'tax', 'credit', 'adjustment')),
    constraint spend_class check (class in ('correction')),
    constraint spend_cost_kind check (cost_kind in ('compute', 'storage', 'network', 'cross_region', 'queueing', 'failed_jobs', 'support', 'depreciation', 'power', 'room', 'staff', 'spares')),
    constraint spend_placed check ((project_id is null) = (environment_id is null))
) partition by range (period);
-- A line is in exactly one of these two: the pages read the first, binding reads the second.
create index spend_environment on spend (environment_id, period desc, id desc) where environment_id is not null;
create index spend_unplaced on spend (resource_id, charged_on) where environment_id is null;
-- What providers correct afterwards is rare, and looked for by that.
create index spend_class on spend (period desc, id desc) where class is not null;
-- An entry's own page knows only its number. Ids grow, so this one costs an import little.
create index spend_by_id on spend (id);

-- Which entry was reversed by which, across partitions: the referee of "one reversal per entry".
create table spend_reversal (
    spend_id        bigint not null,
    -- The period of the reversal.
    period          date not null,
    reversal_id     bigint not null,
    -- At the time of the reversal; both lines may be bound elsewhere later.
    project_id      bigint,
    constraint spend_reversal_pkey primary key (spend_id)
);
select app_ledger('spend_reversal');
-- Seen by those who see the reversal itself. As a function, because a subquery over spend would be planned with every statement
-- that reads this table, for each of its partitions: most of the time that the list of entries took.
create function app_sees_spend(of_period date, of_id bigint) returns boolean
    language plpgsql stable set search_path = public, pg_temp as $$
begin
    return exists (select 1 from spend s where s.period = of_period and s.id = of_id);
end;
$$;
select app_scope('spend_reversal', 'app_sees_spend(period, reversal_id)');

create function app_spend_fences(name text) returns void
    language plpgsql as $$
begin
    perform app_append_only(name);
    execute format('create trigger %1$s_facts before update of id, period, provider_id, account, sub_account, resource_id,
                    service, category, class, cost_kind, charge_start, charge_end, charged_on, quantity, unit, list, contracted,
                    billed, effective, currency, tax_included, tax_rate, description, tags, import_id, import_row, row_key,
                    reverses_id, corrects_id, recorded_at on %1$I for each statement execute function app_refuse_change()', name);
    execute format('alter table %I enable always trigger %I', name, name || '_facts');
    perform app_scope(name, 'project_id = any ((select app_projects())::bigint[])');
    execute format('grant select, insert, update (project_id, environment_id) on %I to rentroll_app', name);
end;
$$;
select app_spend_fences('spend');
-- Row triggers of the parent are cloned to its partitions; statement triggers, policies and grants are not (see the function below).
select app_watch('spend');

-- Makes sure that a month has its partition. Runs as the owner: the program itself may not create tables.
create function app_spend_partition(month date) returns void
    language plpgsql security definer set search_path = public, pg_temp as $$
declare
    name text := 'spend_' || to_char(month, 'YYYYMM');
begin
    if extract(day from month) <> 1 or month < date '1990-01-01' or month > date '2199-12-01' then
        raise exception 'no period begins on %', month using errcode = 'invalid_parameter_value';
    end if;
    if to_regclass('public.' || name) is not null then
        return;
    end if;
    -- Two imports may want the same month at once.
    perform pg_advisory_xact_lock(hashtext('app_spend_partition'));
    if to_regclass('public.' || name) is not null then
        return;
    end if;
    -- Attached rather than created in place: that waits for no reader of spend, and no reader waits for it.
    execute format('create table %I (like spend including defaults including constraints)', name);
    perform app_spend_fences(name);
    execute format('alter table spend attach partition %I for values from (%L) to (%L)', name, month, month + interval '1 month');
end;
$$;
revoke all on function app_spend_partition(date) from public;
grant execute on function app_spend_partition(date) to rentroll_app;

-- Sums per month, kept in the same transaction as the lines; a check proves them equal to the lines. Nulls are "unplaced" and
-- "no kind". The unknown are counted, because unknown is not zero; a reversal takes its entry's back.
create table spend_month (
    period              date not null,
    provider_id         bigint not null,
    project_id          bigint,
    environment_id      bigint,
    category            text not null,
    cost_kind           text,
    currency            text not null,
    lines               bigint not null,
    list                numeric not null,
    contracted          numeric not null,
    billed              numeric not null,
    effective           numeric not null,
    list_unknown        bigint not null,
    contracted_unknown  bigint not null,
    billed_unknown      bigint not null,
    effective_unknown   bigint not null,
    constraint spend_month_key unique nulls not distinct (period, environment_id, provider_id, category, cost_kind, currency, project_id)
);
create index spend_month_environment on spend_month (environment_id, period);
create index spend_month_project on spend_month (project_id, period);
select app_machine('spend_month');
select app_scope('spend_month', 'project_id = any ((select app_projects())::bigint[])');

-- Sums per day of charge, for the one thing that needs the day: conversion at a dated rate.
create table spend_day (
    period              date not null,
    charged_on          date not null,
    provider_id         bigint not null,
    project_id          bigint,
    environment_id      bigint,
    category            text not null,
    cost_kind           text,
    currency            text not null,
    lines               bigint not null,
    list                numeric not null,
    contracted          numeric not null,
    billed              numeric not null,
    effective           numeric not null,
    list_unknown        bigint not null,
    contracted_unknown  bigint not null,
    billed_unknown      bigint not null,
    effective_unknown   bigint not null,
    -- Read by project and environment; whole months of everything are read from spend_total.
    constraint spend_day_key unique nulls not distinct (project_id, environment_id, currency, period, charged_on, provider_id, category, cost_kind)
);
create index spend_day_period on spend_day using brin (period) with (pages_per_range = 16);
select app_machine('spend_day');
select app_scope('spend_day', 'project_id = any ((select app_projects())::bigint[])');

-- Sums per resource and month: where a resource's lines are, and the work list of what is unplaced.
create table spend_resource (
    resource_id         bigint not null,
    period              date not null,
    project_id          bigint,
    environment_id      bigint,
    currency            text not null,
    lines               bigint not null,
    list                numeric not null,
    contracted          numeric not null,
    billed              numeric not null,
    effective           numeric not null,
    list_unknown        bigint not null,
    contracted_unknown  bigint not null,
    billed_unknown      bigint not null,
    effective_unknown   bigint not null,
    constraint spend_resource_key unique nulls not distinct (resource_id, period, environment_id, currency, project_id)
);
create index spend_resource_unplaced on spend_resource (resource_id) where environment_id is null and lines <> 0;
select app_machine('spend_resource');
select app_scope('spend_resource', 'project_id = any ((select app_projects())::bigint[])');

-- Sums per day over all projects: the totals of the whole ledger stay as quick as those of one environment, however many
-- environments there are. Only readers of all projects see it.
create table spend_total (
    period              date not null,
    charged_on          date not null,
    provider_id         bigint not null,
    currency            text not null,
    lines               bigint not null,
    list                numeric not null,
    contracted          numeric not null,
    billed              numeric not null,
    effective           numeric not null,
    list_unknown        bigint not null,
    contracted_unknown  bigint not null,
    billed_unknown      bigint not null,
    effective_unknown   bigint not null,
    constraint spend_total_key unique (period, charged_on, provider_id, currency)
);
select app_machine('spend_total');
select app_scope('spend_total', 'false');
-- An operator of one project adds to it without being able to read it: spend_day's trigger does, as the owner.
create policy spend_total_kept on spend_total to current_user using (true) with check (true);

-- The same per month: what the whole ledger adds up to is some hundred cells, where days are some thousand.
create table spend_month_total (
    period              date not null,
    provider_id         bigint not null,
    currency            text not null,
    lines               bigint not null,
    list                numeric not null,
    contracted          numeric not null,
    billed              numeric not null,
    effective           numeric not null,
    list_unknown        bigint not null,
    contracted_unknown  bigint not null,
    billed_unknown      bigint not null,
    effective_unknown   bigint not null,
    constraint spend_month_total_key unique (period, provider_id, currency)
);
select app_machine('spend_month_total');
select app_scope('spend_month_total', 'false');
create policy spend_month_total_kept on spend_month_total to current_user using (true) with check (true);

create function app_keep_spend_total() returns trigger
    language plpgsql security definer set search_path = public, pg_temp as $$
declare
    gone text := 'select -1 as sign, o.* from old_rows o';
    come text := 'select 1 as sign, n.* from new_rows n';
    changed text := case tg_op when 'INSERT' then come when 'DELETE' then gone else come || ' union all ' || gone end;
    kept record;
begin
    for kept in values ('spend_total', 'period, charged_on, provider_id, currency'),
                       ('spend_month_total', 'period, provider_id, currency') loop
        execute format($sql$
            insert into %1$I as t
            select %2$s, sum(d.sign * d.lines), sum(d.sign * d.list), sum(d.sign * d.contracted), sum(d.sign * d.billed),
                   sum(d.sign * d.effective), sum(d.sign * d.list_unknown), sum(d.sign * d.contracted_unknown),
                   sum(d.sign * d.billed_unknown), sum(d.sign * d.effective_unknown)
            from (%3$s) d
            group by %2$s
            -- In one order, so that two writers never wait for each other.
            order by %2$s
            on conflict on constraint %4$I do update set
                lines = t.lines + excluded.lines, list = t.list + excluded.list, contracted = t.contracted + excluded.contracted,
                billed = t.billed + excluded.billed, effective = t.effective + excluded.effective,
                list_unknown = t.list_unknown + excluded.list_unknown,
                contracted_unknown = t.contracted_unknown + excluded.contracted_unknown,
                billed_unknown = t.billed_unknown + excluded.billed_unknown,
                effective_unknown = t.effective_unknown + excluded.effective_unknown
            $sql$, kept.column1, kept.column2, changed, kept.column1 || '_key');
    end loop;
    return null;
end;
$$;

create trigger spend_day_inserted after insert on spend_day
    referencing new table as new_rows for each statement execute function app_keep_spend_total();
create trigger spend_day_updated after update on spend_day
    referencing old table as old_rows new table as new_rows for each statement execute function app_keep_spend_total();
create trigger spend_day_deleted after delete on spend_day
    referencing old table as old_rows for each statement execute function app_keep_spend_total();

-- One line of what was produced.
create table output_entry (
    id              bigint generated always as identity,
    project_id      bigint not null,
    environment_id  bigint not null,
    scenario        text,
    period          date not null,
    unit            text not null,
    quantity        numeric not null,
    -- What it was worth, where somebody can say.
    value           numeric,
    currency        text,
    description     text not null default '',
    reverses_id     bigint references output_entry,
    -- The entry in whose place it was recorded.
    corrects_id     bigint references output_entry,
    recorded_at     timestamptz not null,
    constraint output_entry_pkey primary key (id),
    constraint output_entry_environment foreign key (project_id, environment_id) references environment (project_id, id),
    constraint output_entry_period check (extract(day from period) = 1),
    constraint output_entry_one_reversal unique (reverses_id),
    constraint output_entry_value check ((value is null) = (currency is null))
);
create index output_entry_environment on output_entry (environment_id, period desc, id desc);
create index output_entry_period on output_entry (period desc, id desc);
select app_ledger('output_entry');
select app_scope('output_entry', 'project_id = any ((select app_projects())::bigint[])');

-- A dated rate: one unit of base is this many of quote. The European Central Bank's base is EUR.
create table exchange_rate (
    id          bigint generated always as identity,
    base        text not null,
    quote       text not null,
    rated_on    date not null,
    rate        numeric not null,
    source      text not null,
    created_at  timestamptz not null,
    constraint exchange_rate_pkey primary key (id),
    constraint exchange_rate_one unique (base, quote, rated_on),
    constraint exchange_rate_positive check (rate > 0),
    constraint exchange_rate_pair check (base <> quote),
    constraint exchange_rate_source check (source in ('ecb', 'manual'))
);
create index exchange_rate_quote on exchange_rate (quote, base, rated_on desc);
create index exchange_rate_day on exchange_rate (rated_on desc, id desc);
select app_ledger('exchange_rate');
