//! Types of elements and values.

use sdfg::dtype::{ElementType, ScalarType};

use super::program::Program;
use crate::header::c_type;

/// The type of a value.
pub(super) const fn value_type(ty: ScalarType) -> &'static str {
    if matches!(ty, ScalarType::F16) { "sdfg_f16" } else { c_type(ty) }
}

/// The type of one lane in memory. Any byte but 0 is a true `bool` there.
pub(super) const fn lane_type(ty: ScalarType) -> &'static str {
    if matches!(ty, ScalarType::Bool) { "uint8_t" } else { value_type(ty) }
}

impl Program<'_> {
    /// The type of an element in memory, declared if it is not one of the language.
    pub(super) fn memory_type(&self, element: ElementType) -> String {
        let lane = element.lane();
        self.declare_type(lane);
        if element.lanes() == 1 {
            return lane_type(lane).to_owned();
        }
        let name = format!("sdfg_{}x{}", lane.name(), element.lanes());
        self.helper(&name, || {
            format!("typedef struct {{ {} lane[{}]; }} {name};\n", lane_type(lane), element.lanes())
        })
    }

    /// The type of a value, declared if it is not one of the language.
    pub(super) fn scalar_type(&self, ty: ScalarType) -> &'static str {
        self.declare_type(ty);
        value_type(ty)
    }

    /// Declares a type that the language does not have.
    pub(super) fn declare_type(&self, ty: ScalarType) {
        match ty {
            ScalarType::F16 => {
                self.helper("sdfg_f16", || {
                    "/* The bits of an IEEE 754 binary16. */\ntypedef uint16_t sdfg_f16;\n".to_owned()
                });
            }
            ScalarType::Complex64 | ScalarType::Complex128 => {
                let (name, real) = (value_type(ty), value_type(ty.component()));
                self.helper(name, || format!("typedef struct {{ {real} re, im; }} {name};\n"));
            }
            ScalarType::Bool
            | ScalarType::I8
            | ScalarType::I16
            | ScalarType::I32
            | ScalarType::I64
            | ScalarType::U8
            | ScalarType::U16
            | ScalarType::U32
            | ScalarType::U64
            | ScalarType::F32
            | ScalarType::F64 => {}
        }
    }
}
