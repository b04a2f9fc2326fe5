-- One month of bill lines: $1 the month's number, from 1 on; $2 its first day; $3 how many lines.
-- A resource's provider, account and environment follow from its number, as in records.sql.
insert into spend (period, provider_id, account, sub_account, resource_id, project_id, environment_id, service, category,
                   charge_start, charge_end, charged_on, quantity, unit, list, contracted, billed, effective, currency,
                   description, tags, import_id, import_row, row_key, recorded_at)
select $2::date, 1 + r % 5, 'account-' || (1 + r / 5 % 4), 'team-' || r % 12, r,
       case when r % 40 <> 0 then 1 + r % 500 % 20 end,
       case when r % 40 <> 0 then 1 + r % 500 end,
       (array['GPU 云服务器', '对象存储', '弹性公网 IP', '文件存储', 'GPU 云服务器', '云监控'])[1 + i % 6],
       case when i % 100 = 1 then 'tax' when i % 200 = 2 then 'credit' else 'usage' end,
       ($2::date + hour) at time zone 'Asia/Shanghai', ($2::date + hour + interval '1 hour') at time zone 'Asia/Shanghai', ($2::date + hour)::date,
       1, 'Hours',
       case when i % 50 <> 7 then cost end, cost * 0.95, cost * 0.9, cost * 0.875,
       case when r % 5 < 3 then 'CNY' else 'USD' end,
       '8×H800 按量计费，' || 'cn-east-' || (1 + r % 3), jsonb_build_object('team', 'team-' || r % 12, 'env', 'train'),
       ($1::integer - 1) * 5 + 1 + r % 5, i, md5($1::integer || '/' || i)::uuid, ($2::date + interval '1 month 2 days') at time zone 'Asia/Shanghai'
from generate_series(1, $3::integer) i,
     lateral (select (1 + (i::bigint * 7919 + $1::integer * 104729) % 2000)::integer) resource (r),
     lateral (select make_interval(hours => (i::bigint * 37 % (24 * extract(day from $2::date + interval '1 month -1 day')))::integer)) start (hour),
     lateral (select case when i % 200 = 2 then -1 else 1 end * round((1 + i % 97) * 0.3712345678 + r % 13, 10)) price (cost)
