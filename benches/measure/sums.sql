-- What follows from the lines of one month, bench.month: the imports that they came by, and the sums as every command keeps them.

insert into bill_import (provider_id, file_name, file_sha256, file_bytes, format, rows_read, rows_new, rows_known, rows_missing,
                         totals, rows_digest, periods, first_id, last_id, person_name, created_at)
select provider_id, 'bill-' || to_char(period, 'YYYY-MM') || '.csv', sha256(import_id::text::bytea), count(*) * 400, 'focus',
       count(*), count(*), 0, 0, '{}', sha256(import_id::text::bytea), array[period], min(id), max(id), '人员 1', max(recorded_at)
from spend where period = current_setting('bench.month')::date group by import_id, provider_id, period order by import_id;

create temporary view measured as
select s.*, 1::bigint as lines, (list is null)::integer::bigint as list_unknown, (contracted is null)::integer::bigint as contracted_unknown,
       (billed is null)::integer::bigint as billed_unknown, (effective is null)::integer::bigint as effective_unknown
from spend s where period = current_setting('bench.month')::date;

insert into spend_month (period, provider_id, project_id, environment_id, category, cost_kind, currency, lines, list, contracted,
                         billed, effective, list_unknown, contracted_unknown, billed_unknown, effective_unknown)
select period, provider_id, project_id, environment_id, category, cost_kind, currency, sum(lines), coalesce(sum(list), 0),
       coalesce(sum(contracted), 0), coalesce(sum(billed), 0), coalesce(sum(effective), 0), sum(list_unknown),
       sum(contracted_unknown), sum(billed_unknown), sum(effective_unknown)
from measured group by 1, 2, 3, 4, 5, 6, 7;

-- spend_total and spend_month_total follow by a trigger.
insert into spend_day (charged_on, period, provider_id, project_id, environment_id, category, cost_kind, currency, lines, list,
                       contracted, billed, effective, list_unknown, contracted_unknown, billed_unknown, effective_unknown)
select charged_on, period, provider_id, project_id, environment_id, category, cost_kind, currency, sum(lines),
       coalesce(sum(list), 0), coalesce(sum(contracted), 0), coalesce(sum(billed), 0), coalesce(sum(effective), 0),
       sum(list_unknown), sum(contracted_unknown), sum(billed_unknown), sum(effective_unknown)
from measured group by 1, 2, 3, 4, 5, 6, 7, 8;

insert into spend_resource (resource_id, period, project_id, environment_id, currency, lines, list, contracted, billed, effective,
                            list_unknown, contracted_unknown, billed_unknown, effective_unknown)
select resource_id, period, project_id, environment_id, currency, sum(lines), coalesce(sum(list), 0),
       coalesce(sum(contracted), 0), coalesce(sum(billed), 0), coalesce(sum(effective), 0), sum(list_unknown),
       sum(contracted_unknown), sum(billed_unknown), sum(effective_unknown)
from measured group by 1, 2, 3, 4, 5;

drop view measured;
