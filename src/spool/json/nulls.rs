//! What JSON writes as `null`, which is not always read back as what it was: `Some(f64::NAN)` and `Some(None)` are read as `None`.

use std::fmt::{self, Display};

use serde::Serialize;
use serde::ser::{self, Serializer};

/// In what a value differs from others with the same `null`s: how many values are in a `Some`, and how many numbers are not finite. `None`
/// if the value cannot be serialized.
pub(super) fn nulls<V: Serialize>(value: &V) -> Option<(usize, usize)> {
    let mut nulls = Nulls::default();
    value.serialize(&mut nulls).ok()?;
    Some((nulls.some, nulls.not_finite))
}

#[derive(Default)]
struct Nulls {
    some: usize,
    not_finite: usize,
}

/// The value itself has failed.
#[derive(Debug)]
struct Failed;

impl Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value cannot be serialized")
    }
}

impl std::error::Error for Failed {}

impl ser::Error for Failed {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

type Counted = Result<(), Failed>;

macro_rules! count_nothing {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, _: $type) -> Counted { Ok(()) })*
    };
}

impl Serializer for &mut Nulls {
    type Ok = ();
    type Error = Failed;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    count_nothing!(
        serialize_bool: bool, serialize_char: char, serialize_str: &str, serialize_bytes: &[u8], serialize_i8: i8, serialize_i16: i16,
        serialize_i32: i32, serialize_i64: i64, serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32,
        serialize_u64: u64, serialize_u128: u128, serialize_unit_struct: &'static str
    );

    fn serialize_f32(self, number: f32) -> Counted {
        self.serialize_f64(number.into())
    }

    fn serialize_f64(self, number: f64) -> Counted {
        self.not_finite += usize::from(!number.is_finite());
        Ok(())
    }

    fn serialize_none(self) -> Counted {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Counted {
        self.some += 1;
        value.serialize(self)
    }

    fn serialize_unit(self) -> Counted {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Counted {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Counted {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Counted {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Failed> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Failed> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Failed> {
        Ok(self)
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self, Failed> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Failed> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Failed> {
        Ok(self)
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self, Failed> {
        Ok(self)
    }
}

macro_rules! count_each {
    ($($parts:ident: $method:ident($($name:ty)?)),*) => {
        $(impl ser::$parts for &mut Nulls {
            type Ok = ();
            type Error = Failed;

            fn $method<T: Serialize + ?Sized>(&mut self, $(_: $name,)? value: &T) -> Counted {
                value.serialize(&mut **self)
            }

            fn end(self) -> Counted {
                Ok(())
            }
        })*
    };
}

count_each!(
    SerializeSeq: serialize_element(),
    SerializeTuple: serialize_element(),
    SerializeTupleStruct: serialize_field(),
    SerializeTupleVariant: serialize_field(),
    SerializeStruct: serialize_field(&'static str),
    SerializeStructVariant: serialize_field(&'static str)
);

impl ser::SerializeMap for &mut Nulls {
    type Ok = ();
    type Error = Failed;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Counted {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Counted {
        value.serialize(&mut **self)
    }

    fn end(self) -> Counted {
        Ok(())
    }
}
