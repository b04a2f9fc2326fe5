-- Who rents to us, what they offer, and what it costs. These belong to no project: everyone who signed in reads them.

create table provider (
    id               bigint generated always as identity,
    name             text not null,
    website          text,
    -- Where orders are placed; a page that is only reached encrypted.
    portal           text,
    sla              text not null default '',
    support_hours    text not null default '',
    support_channel  text not null default '',
    -- It passes on what it rents itself.
    second_hand      boolean not null default false,
    note             text not null default '',
    version          integer not null default 1,
    created_at       timestamptz not null,
    constraint provider_pkey primary key (id),
    constraint provider_portal check (portal like 'https://%')
);
create unique index provider_name on provider (app_name_key(name));
select app_record('provider');

-- With whom a provider is dealt with. Whoever left stays readable.
create table provider_contact (
    id           bigint generated always as identity,
    provider_id  bigint not null references provider,
    name         text not null,
    job          text not null default '',
    email        text,
    phone        text not null default '',
    note         text not null default '',
    former       boolean not null default false,
    version      integer not null default 1,
    created_at   timestamptz not null,
    constraint provider_contact_pkey primary key (id)
);
create index provider_contact_provider on provider_contact (provider_id);
-- Two people of one name: one of them is written with something more.
create unique index provider_contact_name on provider_contact (provider_id, name) where not former;
select app_record('provider_contact');

-- What was agreed with a provider; the paper itself is a document.
create table contract (
    id           bigint generated always as identity,
    provider_id  bigint not null references provider,
    number       text not null,
    title        text not null,
    -- Both days are included; an open contract has no last one.
    starts_on    date not null,
    ends_on      date,
    note         text not null default '',
    version      integer not null default 1,
    created_at   timestamptz not null,
    constraint contract_pkey primary key (id),
    constraint contract_number unique (provider_id, number),
    constraint contract_days check (ends_on >= starts_on)
);
select app_record('contract');

-- One offer: region, form, hardware. Form and class keep two offers of the same GPU apart.
create table tier (
    id                   bigint generated always as identity,
    provider_id          bigint not null references provider,
    name                 text not null,
    form                 text,
    billing_mode         text,
    gpu_model            text,
    -- Per unit of the tier.
    gpu_count            integer,
    gpu_memory_gb        integer,
    interconnect         text,
    region               text,
    expansion_terms      text not null default '',
    expansion_procedure  text not null default '',
    -- From the order to the first use.
    ready_days           integer,
    note                 text not null default '',
    version              integer not null default 1,
    created_at           timestamptz not null,
    constraint tier_pkey primary key (id),
    constraint tier_of_provider unique (provider_id, id),
    constraint tier_form check (form in ('bare_metal', 'card', 'service', 'owned')),
    constraint tier_billing_mode check (billing_mode in ('hourly', 'monthly', 'usage', 'reserved', 'spot')),
    constraint tier_gpu_count check (gpu_count > 0),
    constraint tier_gpu_memory check (gpu_memory_gb > 0),
    constraint tier_ready_days check (ready_days >= 0)
);
create unique index tier_name on tier (provider_id, app_name_key(name));
select app_record('tier');

-- A price never changes: a new one begins on its day, so past months keep the old one. One that was typed wrong is voided,
-- stays, and counts no more.
create table price (
    id            bigint generated always as identity,
    tier_id       bigint not null references tier,
    billing_mode  text not null,
    unit          text not null,
    amount        numeric not null,
    currency      text not null,
    valid_from    date not null,
    created_at    timestamptz not null,
    voided_at     timestamptz,
    voided_by     text,
    void_reason   text,
    constraint price_pkey primary key (id),
    -- A sentinel such as -1 is not a price; unknown is no row at all.
    constraint price_amount check (amount >= 0),
    constraint price_billing_mode check (billing_mode in ('hourly', 'monthly', 'usage', 'reserved', 'spot')),
    constraint price_voided check (num_nulls(voided_at, voided_by, void_reason) in (0, 3))
);
create unique index price_one on price (tier_id, billing_mode, unit, currency, valid_from) where voided_at is null;
create index price_tier on price (tier_id, valid_from desc);
select app_record('price');
-- Voiding is all that ever happens to a row.
revoke update on price from rentroll_app;
grant update (voided_at, voided_by, void_reason) on price to rentroll_app;

-- What went wrong at a provider. What proves it is a link, or a document of the provider.
create table provider_incident (
    id           bigint generated always as identity,
    provider_id  bigint not null references provider,
    title        text not null,
    severity     text not null,
    -- Where it was, as far as one knows.
    tier_id      bigint,
    region       text not null default '',
    starts_at    timestamptz not null,
    -- Null while it goes on.
    ends_at      timestamptz,
    link         text,
    note         text not null default '',
    version      integer not null default 1,
    created_at   timestamptz not null,
    voided_at    timestamptz,
    voided_by    text,
    void_reason  text,
    constraint provider_incident_pkey primary key (id),
    constraint provider_incident_tier foreign key (provider_id, tier_id) references tier (provider_id, id),
    constraint provider_incident_severity check (severity in ('minor', 'major', 'outage')),
    constraint provider_incident_order check (ends_at >= starts_at),
    constraint provider_incident_voided check (num_nulls(voided_at, voided_by, void_reason) in (0, 3))
);
create index provider_incident_provider on provider_incident (provider_id, starts_at desc);
select app_record('provider_incident');
