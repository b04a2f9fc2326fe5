-- Who rents to us, what they offer, and what it costs. These belong to no project: everyone who signed in reads them.

create table provider (
    id          bigint generated always as identity,
    name        text not null,
    website     text,
    note        text not null default '',
    version     integer not null default 1,
    created_at  timestamptz not null,
    constraint provider_pkey primary key (id),
    constraint provider_name unique (name)
);
select app_record('provider');

-- One offer: region, form, hardware. Form and class keep two offers of the same GPU apart.
create table tier (
    id              bigint generated always as identity,
    provider_id     bigint not null references provider,
    name            text not null,
    form            text,
    billing_mode    text,
    gpu_model       text,
    -- Per unit of the tier.
    gpu_count       integer,
    gpu_memory_gb   integer,
    interconnect    text,
    region          text,
    note            text not null default '',
    version         integer not null default 1,
    created_at      timestamptz not null,
    constraint tier_pkey primary key (id),
    constraint tier_name unique (provider_id, name),
    constraint tier_of_provider unique (provider_id, id),
    constraint tier_form check (form in ('bare_metal', 'card', 'service', 'owned')),
    constraint tier_billing_mode check (billing_mode in ('hourly', 'monthly', 'usage', 'reserved', 'spot')),
    constraint tier_gpu_count check (gpu_count > 0),
    constraint tier_gpu_memory check (gpu_memory_gb > 0)
);
select app_record('tier');

-- A price never changes: a new one begins on its day, so past months keep the old one.
create table price (
    id            bigint generated always as identity,
    tier_id       bigint not null references tier,
    billing_mode  text not null,
    unit          text not null,
    amount        numeric not null,
    currency      text not null,
    valid_from    date not null,
    created_at    timestamptz not null,
    constraint price_pkey primary key (id),
    constraint price_one unique (tier_id, billing_mode, unit, currency, valid_from),
    -- A sentinel such as -1 is not a price; unknown is no row at all.
    constraint price_amount check (amount >= 0),
    constraint price_billing_mode check (billing_mode in ('hourly', 'monthly', 'usage', 'reserved', 'spot'))
);
create index price_tier on price (tier_id, valid_from desc);
select app_record('price');
