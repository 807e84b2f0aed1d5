//! Calls of C functions.

use inkwell::attributes::AttributeLoc;
use inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum};
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum};
use sdfg::dtype::{ElementType, ScalarKind, ScalarType};

use super::emitter::Emit;
use super::error::LlvmError;
use super::function::Function;
use super::value::{Lane, Lanes};
use crate::plan::{ExternalArgument, ExternalCompute, Location};

/// Arguments of a call: their values, their types, and the extensions of narrow integers.
type Passed<'c, 'ctx> =
    (&'c [BasicMetadataValueEnum<'ctx>], &'c [BasicMetadataTypeEnum<'ctx>], &'c [Option<&'static str>]);

impl<'ctx> Function<'_, 'ctx> {
    pub(super) fn external(&self, call: &ExternalCompute) -> Emit<()> {
        let mut values: Vec<BasicMetadataValueEnum<'ctx>> = Vec::new();
        let mut types: Vec<BasicMetadataTypeEnum<'ctx>> = Vec::new();
        let mut extensions = Vec::new();
        for argument in &call.arguments {
            match argument {
                ExternalArgument::Value(scalar) => {
                    let value = self.evaluate(scalar)?;
                    let ty = self.passed_type(call, value.element())?;
                    extensions.push(extension(value.ty));
                    types.push(ty.into());
                    values.push(match value.lanes.first() {
                        Some(Lane::Int(v)) if value.ty == ScalarType::Bool => {
                            self.builder.build_int_z_extend(*v, self.emitter.i8(), "")?.into()
                        }
                        Some(Lane::Int(v)) => (*v).into(),
                        Some(Lane::Float(v)) => (*v).into(),
                        Some(Lane::Complex(..)) | None => {
                            return Err(self.emitter.defect("the type was just checked"));
                        }
                    });
                }
                ExternalArgument::Pointer(location) => {
                    extensions.push(None);
                    types.push(self.emitter.pointer().into());
                    values.push(self.place(location)?.address.into());
                }
            }
        }
        let result = match &call.result {
            None => None,
            Some((element, _)) => Some(self.passed_type(call, Some(*element))?),
        };
        if let Some(callback) = call.callback {
            return self.call_back(call, callback, (&values, &types, &extensions), result);
        }
        let function = self.emitter.declare(&call.symbol, result, &types);
        if function.get_type().get_param_types() != types {
            return Err(LlvmError::Unsupported {
                what: format!("calling `{}` with different signatures in one program", call.symbol),
            });
        }
        for (index, extension) in extensions.into_iter().enumerate() {
            if let Some(extension) = extension {
                // The caller extends narrow integers: so x86_64 compilers expect it.
                self.emitter.attribute(function, AttributeLoc::Param(index as u32), extension, 0);
            }
        }
        let Some((element, location)) = &call.result else {
            return self.perform(function, &values);
        };
        let returned = self.call(function, &values)?;
        self.store_returned(*element, location, returned)
    }

    /// Calls a function that the caller passed, which may end the run.
    fn call_back(
        &self,
        call: &ExternalCompute,
        callback: usize,
        (values, types, extensions): Passed<'_, 'ctx>,
        result: Option<BasicTypeEnum<'ctx>>,
    ) -> Emit<()> {
        let ty = match result {
            Some(result) => result.fn_type(types, false),
            None => self.emitter.context.void_type().fn_type(types, false),
        };
        let function = self.load_pointer(self.callback_field(callback)?)?;
        let site = self.builder.build_indirect_call(ty, function, values, "")?;
        for (index, extension) in extensions.iter().enumerate() {
            if let Some(extension) = extension {
                let kind = inkwell::attributes::Attribute::get_named_enum_kind_id(extension);
                let attribute = self.emitter.context.create_enum_attribute(kind, 0);
                site.add_attribute(AttributeLoc::Param(index as u32), attribute);
            }
        }
        self.fail_as_others_did()?;
        match (&call.result, site.try_as_basic_value().basic()) {
            (Some((element, location)), Some(returned)) => self.store_returned(*element, location, returned),
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// Stores a value that C returned.
    fn store_returned(
        &self,
        element: ElementType,
        location: &Location,
        returned: BasicValueEnum<'ctx>,
    ) -> Emit<()> {
        let ty = element.lane();
        let lane = match returned {
            BasicValueEnum::IntValue(v) if ty == ScalarType::Bool => {
                let zero = v.get_type().const_zero();
                Lane::Int(self.compare(inkwell::IntPredicate::NE, v, zero)?)
            }
            BasicValueEnum::IntValue(v) => Lane::Int(v),
            BasicValueEnum::FloatValue(v) => Lane::Float(v),
            _ => return Err(self.emitter.defect("a C function returns an integer or a float")),
        };
        self.store(&self.place(location)?, &Lanes::scalar(ty, lane))
    }

    /// The type of a value that C passes by value; complex numbers, vectors and `f16` travel in ways that differ between
    /// platforms.
    fn passed_type(&self, call: &ExternalCompute, element: Option<ElementType>) -> Emit<BasicTypeEnum<'ctx>> {
        match element.and_then(ElementType::as_scalar) {
            Some(ty) if !ty.is_complex() && ty != ScalarType::F16 => self.emitter.component_type(ty),
            Some(_) | None => Err(LlvmError::Unsupported {
                what: format!(
                    "complex, f16 or vector values in the call of `{}` (pass a pointer instead)",
                    call.symbol
                ),
            }),
        }
    }
}

/// Extension of a narrow integer in its register.
fn extension(ty: ScalarType) -> Option<&'static str> {
    match (ty.kind(), ty.size()) {
        (ScalarKind::Signed, 1 | 2) => Some("signext"),
        (ScalarKind::Unsigned | ScalarKind::Bool, 1 | 2) => Some("zeroext"),
        _ => None,
    }
}
