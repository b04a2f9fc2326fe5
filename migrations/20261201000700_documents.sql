-- Files attached to things, in versions. The bytes lie in the object store under their hash; a row never changes.

alter table output_entry add constraint output_entry_of_project unique (project_id, id);

create table document (
    id              bigint generated always as identity,
    -- That of the environment or of the output; what hangs on the catalogue is read by everyone who signed in.
    project_id      bigint,
    provider_id     bigint references provider,
    contract_id     bigint references contract,
    environment_id  bigint,
    output_id       bigint,
    -- The first of its versions; nothing for that one itself.
    first_id        bigint references document,
    number          integer not null,
    name            text not null,
    media_type      text not null,
    size            bigint not null,
    sha256          bytea not null,
    note            text not null default '',
    added_by        text not null,
    added_at        timestamptz not null,
    constraint document_pkey primary key (id),
    constraint document_holder check (num_nonnulls(provider_id, contract_id, environment_id, output_id) = 1),
    constraint document_project check ((project_id is null) = (environment_id is null and output_id is null)),
    constraint document_environment foreign key (project_id, environment_id) references environment (project_id, id),
    constraint document_output foreign key (project_id, output_id) references output_entry (project_id, id),
    constraint document_version unique (first_id, number),
    constraint document_number check (case when first_id is null then number = 1 else number > 1 end),
    constraint document_size check (size > 0)
);
create index document_of_project on document (project_id);
create index document_of_provider on document (provider_id) where provider_id is not null;
create index document_of_contract on document (contract_id) where contract_id is not null;
create index document_of_environment on document (environment_id) where environment_id is not null;
create index document_of_output on document (output_id) where output_id is not null;
select app_ledger('document');
select app_scope('document', '(project_id is null or project_id = any ((select app_projects())::bigint[]))');

-- Attached by mistake: still there, still readable, and said to be so.
create table document_void (
    id           bigint generated always as identity,
    document_id  bigint not null references document,
    project_id   bigint,
    reason       text not null,
    voided_by    text not null,
    voided_at    timestamptz not null,
    constraint document_void_pkey primary key (id),
    constraint document_void_once unique (document_id)
);
select app_ledger('document_void');
select app_scope('document_void', '(project_id is null or project_id = any ((select app_projects())::bigint[]))');
