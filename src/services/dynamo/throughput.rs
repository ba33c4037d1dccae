//! The throughput of a table, from its description.

use aws_sdk_dynamodb::types::{BillingMode, GlobalSecondaryIndexDescription, TableDescription};

/// The throughput of a table or an index: their types have the same methods.
macro_rules! throughput {
    ($described:expr, $provisioned:ident, $warm:ident, $most:ident) => {
        DescribedThroughput {
            provisioned: $described
                .provisioned_throughput()
                .and_then(|units| units.$provisioned()),
            warm: $described.warm_throughput().and_then(|units| units.$warm()),
            most: $described.on_demand_throughput().and_then(|units| units.$most()),
        }
    };
}

macro_rules! of_writes {
    ($described:expr) => {
        throughput!(
            $described,
            write_capacity_units,
            write_units_per_second,
            max_write_request_units
        )
    };
}

macro_rules! of_reads {
    ($described:expr) => {
        throughput!(
            $described,
            read_capacity_units,
            read_units_per_second,
            max_read_request_units
        )
    };
}

/// Write units per second: the lowest throughput of the table and of its indexes, because a write goes to all of them.
pub(super) fn described(table: &TableDescription) -> Option<f64> {
    let is_on_demand = is_on_demand(table);
    let of_indexes = table.global_secondary_indexes().iter().map(|index| of_writes!(index));
    std::iter::once(of_writes!(table))
        .chain(of_indexes)
        .filter_map(|described| described.units(is_on_demand))
        .reduce(f64::min)
}

/// Read units per second of the table alone, or of this index of it. A local index reads with the capacity of its table.
pub(super) fn of_reads(table: &TableDescription, index: Option<&str>) -> Option<f64> {
    let described = global(table, index).map_or_else(|| of_reads!(table), |index| of_reads!(index));
    described.units(is_on_demand(table))
}

/// The global index of this name.
pub(super) fn global<'a>(
    table: &'a TableDescription,
    name: Option<&str>,
) -> Option<&'a GlobalSecondaryIndexDescription> {
    let name = name?;
    table
        .global_secondary_indexes()
        .iter()
        .find(|index| index.index_name() == Some(name))
}

fn is_on_demand(table: &TableDescription) -> bool {
    let mode = table.billing_mode_summary().and_then(|summary| summary.billing_mode());
    mode == Some(&BillingMode::PayPerRequest)
}

/// The throughput in the description of a table or an index. A value that is not set is absent, 0 or -1.
struct DescribedThroughput {
    provisioned: Option<i64>,
    warm: Option<i64>,
    most: Option<i64>,
}

impl DescribedThroughput {
    /// The warm throughput of a provisioned table is not its capacity, but the capacity that it could be given at once.
    fn units(&self, is_on_demand: bool) -> Option<f64> {
        if !is_on_demand {
            return set(self.provisioned);
        }
        set(self.warm).into_iter().chain(set(self.most)).reduce(f64::min)
    }
}

/// A number of units, if it is set.
#[expect(clippy::cast_precision_loss, reason = "units a second, far below what is not exact")]
fn set(units: Option<i64>) -> Option<f64> {
    units.filter(|units| *units > 0).map(|units| units as f64)
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::{
        BillingModeSummary, OnDemandThroughput, ProvisionedThroughputDescription, TableWarmThroughputDescription,
    };

    use super::*;

    fn provisioned(units: i64) -> ProvisionedThroughputDescription {
        ProvisionedThroughputDescription::builder()
            .write_capacity_units(units)
            .build()
    }

    fn on_demand() -> BillingModeSummary {
        BillingModeSummary::builder()
            .billing_mode(BillingMode::PayPerRequest)
            .build()
    }

    fn warm(units: i64) -> TableWarmThroughputDescription {
        TableWarmThroughputDescription::builder()
            .write_units_per_second(units)
            .build()
    }

    fn at_most(units: i64) -> OnDemandThroughput {
        OnDemandThroughput::builder().max_write_request_units(units).build()
    }

    #[test]
    fn a_provisioned_table_has_its_provisioned_throughput_however_warm_it_is() {
        let table = TableDescription::builder().provisioned_throughput(provisioned(700));
        assert_eq!(described(&table.clone().build()), Some(700.0));
        assert_eq!(described(&table.warm_throughput(warm(4_000)).build()), Some(700.0));
    }

    #[test]
    fn an_on_demand_table_has_its_warm_throughput_up_to_its_maximum() {
        let table = TableDescription::builder()
            .billing_mode_summary(on_demand())
            .provisioned_throughput(provisioned(0));
        assert_eq!(described(&table.clone().build()), None);
        let warmed = table.clone().warm_throughput(warm(12_000));
        assert_eq!(described(&warmed.clone().build()), Some(12_000.0));
        assert_eq!(
            described(&warmed.clone().on_demand_throughput(at_most(-1)).build()),
            Some(12_000.0)
        );
        assert_eq!(
            described(&warmed.on_demand_throughput(at_most(900)).build()),
            Some(900.0)
        );
        assert_eq!(
            described(&table.on_demand_throughput(at_most(5_000)).build()),
            Some(5_000.0)
        );
    }

    #[test]
    fn reads_have_a_throughput_of_their_own() {
        let reads = ProvisionedThroughputDescription::builder().read_capacity_units(300);
        let table = TableDescription::builder().provisioned_throughput(reads.write_capacity_units(700).build());
        assert_eq!(of_reads(&table.build(), None), Some(300.0));
        let warmed = TableWarmThroughputDescription::builder().read_units_per_second(12_000);
        let table = TableDescription::builder()
            .billing_mode_summary(on_demand())
            .warm_throughput(warmed.build());
        assert_eq!(of_reads(&table.clone().build(), None), Some(12_000.0));
        let most = OnDemandThroughput::builder().max_read_request_units(900).build();
        assert_eq!(of_reads(&table.on_demand_throughput(most).build(), None), Some(900.0));
    }

    #[test]
    fn a_global_index_is_read_with_its_own_capacity_and_a_local_one_with_that_of_its_table() {
        let reads = |units| {
            ProvisionedThroughputDescription::builder()
                .read_capacity_units(units)
                .build()
        };
        let index = GlobalSecondaryIndexDescription::builder()
            .index_name("by_customer")
            .provisioned_throughput(reads(40));
        let table = TableDescription::builder()
            .provisioned_throughput(reads(300))
            .global_secondary_indexes(index.build())
            .build();
        assert_eq!(of_reads(&table, Some("by_customer")), Some(40.0));
        assert_eq!(of_reads(&table, Some("by_date")), Some(300.0));
    }

    #[test]
    fn the_narrowest_index_counts() {
        let index = |units| {
            GlobalSecondaryIndexDescription::builder()
                .index_name("by_customer")
                .provisioned_throughput(provisioned(units))
                .build()
        };
        let table = TableDescription::builder().provisioned_throughput(provisioned(1_000));
        let narrow = table
            .clone()
            .global_secondary_indexes(index(3_000))
            .global_secondary_indexes(index(400));
        assert_eq!(described(&narrow.build()), Some(400.0));
        assert_eq!(
            described(&table.global_secondary_indexes(index(3_000)).build()),
            Some(1_000.0)
        );
    }

    #[test]
    fn without_a_value_the_throughput_is_not_known() {
        assert_eq!(described(&TableDescription::builder().build()), None);
        assert_eq!(
            described(
                &TableDescription::builder()
                    .provisioned_throughput(provisioned(0))
                    .build()
            ),
            None
        );
    }
}
