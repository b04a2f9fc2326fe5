-- The history: $1 entries, each a change of one of 500 environments by one of 60 people. The bytes are as the program writes them.
insert into audit_entry (at, source, actor_kind, actor_id, actor_name, action, object_kind, object_id, object_name, project_id, request_id,
                         bytes)
select at, 'page', 'person', person, '人员 ' || person, 'environment.changed', 'environment', environment, '训练环境 ' || environment,
       1 + (environment - 1) % 20, md5(n::text)::uuid,
       convert_to(format(
           '{"action":"environment.changed","actor":{"id":%s,"kind":"person","name":"人员 %s"},"after":{"id":%s,"name":"训练环境 %s",'
           '"owner_id":%s,"priority":"%s"},"as_of":null,"at":"%s","changes":{"owner_id":[%s,%s],"priority":["%s","%s"]},'
           '"object":{"id":%s,"kind":"environment","name":"训练环境 %s","project":%s},"reason":"换班","request":"%s","source":"page",'
           '"version":1}',
           person, person, environment, environment, 1 + n % 60, word, to_char(at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
           1 + (n + 1) % 60, 1 + n % 60, other, word, environment, environment, 1 + (environment - 1) % 20, md5(n::text)::uuid), 'utf8')
from generate_series(1, $1::integer) n,
     lateral (select 1 + n % 500 as environment, 1 + n % 60 as person,
                     timestamptz '2024-11-01 00:00:00+00' + n * interval '1 minute' as at,
                     (array['normal', 'core', 'low'])[1 + n % 3] as word, (array['normal', 'core', 'low'])[1 + (n + 1) % 3] as other) of_entry;
