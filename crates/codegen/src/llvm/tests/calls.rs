//! Tests of the C header for signatures with every kind of argument.

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::symbolic::Expr;

use crate::header::c_header;
use crate::interface::{Access, Argument, ArgumentKind, Interface, InterfaceError};

fn argument(name: &str, kind: ArgumentKind) -> Argument {
    Argument { name: name.to_owned(), kind }
}

fn array(element: ElementType, shape: &str, access: Access) -> ArgumentKind {
    let shape: Expr = shape.parse().unwrap();
    let (strides, offset) = (vec![Expr::one()], Expr::zero());
    ArgumentKind::Array { element, shape: vec![shape.clone()], strides, offset, elements: shape, access }
}

#[test]
fn the_header_has_every_kind_of_parameter() {
    let vector = ElementType::vector(ScalarType::F32, 4).unwrap();
    let scalar = |ty: ScalarType, access| ArgumentKind::Scalar { element: ty.into(), access };
    let mut arguments = vec![
        argument("A", array(ScalarType::Complex64.into(), "N", Access::Read)),
        argument("v", array(vector, "N + 1", Access::Write)),
        argument("for", scalar(ScalarType::F16, Access::Read)),
        argument("flag", scalar(ScalarType::Bool, Access::Read)),
        argument("sum", scalar(ScalarType::U32, Access::ReadWrite)),
        argument("z", scalar(ScalarType::Complex128, Access::Read)),
        argument("N", ArgumentKind::Symbol { ty: ScalarType::I32 }),
    ];
    let interface = Interface::new("kinds", arguments.clone()).unwrap();
    let header = c_header(&interface);
    let parameters = "const sdfg_complex64 *A,\n    float *v,\n    uint16_t for_,\n    bool flag,\n    uint32_t *sum,\n    \
                      const sdfg_complex128 *z,\n    int32_t N);";
    assert!(header.contains(&format!("int32_t kinds(\n    {parameters}")), "{header}");
    assert!(header.contains(" * v: f32x4[N + 1], written\n"), "{header}");

    // What is not dense says how it lies.
    if let ArgumentKind::Array { strides, offset, elements, .. } = &mut arguments[1].kind {
        (*strides, *offset) = (vec!["2".parse().unwrap()], "3".parse().unwrap());
        *elements = "2*N + 5".parse().unwrap();
    }
    let header = c_header(&Interface::new("kinds", arguments.clone()).unwrap());
    let lies = "strides [2] in an allocation of 2*N + 5 elements, the first of them at position 3";
    assert!(header.contains(&format!(" * v: f32x4[N + 1], written; {lies}\n")), "{header}");

    assert!(matches!(Interface::new("int", vec![]), Err(InterfaceError::Name { .. })));
    arguments.pop();
    assert!(matches!(Interface::new("kinds", arguments.clone()), Err(InterfaceError::UnknownSymbol { .. })));
    arguments.push(arguments[0].clone());
    assert!(matches!(Interface::new("kinds", arguments), Err(InterfaceError::Duplicate { .. })));
}
