//! What can be rented: providers with their contacts, contracts and incidents, their tiers, and what each costs from which day on. Belongs to no project.

pub mod contact;
pub mod contract;
pub mod incident;
pub mod pages;
pub mod price;
pub mod provider;
pub mod tier;
