-- The records of a data set, the same at every run: people, projects, what is offered, what is rented, what is bound.
-- bench.environments says how many environments; bench.ends_on, where it is not empty, on which day all of them end.

insert into person (name, email, locale, created_at)
select '人员 ' || n, 'person-' || n || '@example.com', case when n % 3 = 0 then 'en' end, '2024-10-01 00:00:00+00'
from generate_series(1, 60) n order by n;

insert into user_account (person_id, role, all_projects, created_at)
values (1, 'administrator', true, '2024-10-01 00:00:00+00');

insert into project (name, cost_centre, created_at)
select '项目 ' || n, 'CC-' || (1000 + n), '2024-10-01 00:00:00+00' from generate_series(1, 20) n order by n;

insert into provider (name, created_at)
select '服务商 ' || n, '2024-10-01 00:00:00+00' from generate_series(1, 5) n order by n;

insert into tier (provider_id, name, form, billing_mode, gpu_model, gpu_count, gpu_memory_gb, region, created_at)
select 1 + (n - 1) % 5, '8×H800 规格 ' || n, 'bare_metal', 'monthly', 'H800', 8, 80, 'cn-east-' || (1 + n % 3), '2024-10-01 00:00:00+00'
from generate_series(1, 40) n order by n;

-- Environment n is of provider 1 + (n - 1) % 5, and so is its tier.
insert into environment (project_id, name, provider_id, tier_id, scenario, owner_id, checker_id, priority, labels, anchor_day, created_at)
select 1 + (n - 1) % 20, '训练环境 ' || n, 1 + (n - 1) % 5, 1 + (n - 1) % 40,
       (array['training', 'fine_tuning', 'inference', 'evaluation'])[1 + n % 4], 1 + n % 60, 1 + (n + 7) % 60,
       (array['normal', 'core', 'normal', 'low'])[1 + n % 4], jsonb_build_object('team', 'team-' || n % 12), 1, '2024-10-01 00:00:00+00'
from generate_series(1, current_setting('bench.environments')::integer) n order by n;

insert into term (project_id, environment_id, number, starts_on, ends_on, cycle_months, renewal, notice_days, price, currency, created_at)
select project_id, id, 1, date '2024-11-01', date '2025-10-31', 1, 'on_request', 0, 21000 + id, 'CNY', '2024-10-01 00:00:00+00'
from environment order by id;

insert into term (project_id, environment_id, number, starts_on, ends_on, cycle_months, renewal, notice_days, price, currency, created_at)
select project_id, id, 2, date '2025-11-01',
       coalesce(nullif(current_setting('bench.ends_on'), '')::date, date '2026-12-15' + (id % 300)::integer), 1, 'on_request',
       case when current_setting('bench.ends_on') = '' then id % 4 * 10 else 0 end, 20000 + id, 'CNY', '2025-10-01 00:00:00+00'
from environment order by id;

insert into deadline (kind, project_id, environment_id, term_id, due_on, closed, created_at)
select 'expiry', project_id, environment_id, id, ends_on, case when number = 1 then 'renewed' end, created_at from term order by id;

insert into deadline (kind, project_id, environment_id, term_id, due_on, closed, created_at)
select 'cancel_by', project_id, environment_id, id, ends_on - notice_days, case when number = 1 then 'renewed' end, created_at
from term where notice_days > 0 order by id;

-- Resource n is of provider 1 + n % 5 and account 1 + n / 5 % 4, and is bound to environment 1 + n % 500: of that provider, too.
-- One in forty is bound to nothing.
insert into resource (provider_id, account, external_id, name, type, region, created_at)
select 1 + n % 5, 'account-' || (1 + n / 5 % 4), 'i-' || lpad(n::text, 8, '0'), 'gpu-node-' || n, 'instance', 'cn-east-' || (1 + n % 3),
       '2024-10-01 00:00:00+00'
from generate_series(1, 2000) n order by n;

insert into binding (resource_id, project_id, environment_id, starts_on, created_at)
select r.id, e.project_id, e.id, date '2024-11-01', '2024-10-01 00:00:00+00'
from resource r join environment e on e.id = 1 + r.id % 500
where r.id % 40 <> 0 order by r.id;
