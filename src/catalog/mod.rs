//! What can be rented: providers, their tiers, and what each costs from which day on. Belongs to no project.

pub mod pages;
pub mod price;
pub mod provider;
pub mod tier;
