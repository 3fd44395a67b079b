//! NumPy's file format for one array: versions 1 to 3, little endian.
//!
//! Dtypes that NumPy lacks (bf16, fp8, c32) are refused. Damaged files are errors, and no header makes this module
//! allocate more than the file has.

use crate::elements::Elements;
use gems_ops::buffer::StridedBuffer;
use gems_ops::dtype::DType;
use gems_ops::layout::{Layout, Strides, contiguous_strides};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Headers are padded so that the data begins at a multiple of this.
const ALIGN: usize = 64;

/// NumPy's name of each dtype.
const NAMES: &[(DType, &str)] = &[
    (DType::Bool, "|b1"),
    (DType::U8, "|u1"),
    (DType::I8, "|i1"),
    (DType::I16, "<i2"),
    (DType::U16, "<u2"),
    (DType::I32, "<i4"),
    (DType::U32, "<u4"),
    (DType::I64, "<i8"),
    (DType::U64, "<u8"),
    (DType::F16, "<f2"),
    (DType::F32, "<f4"),
    (DType::F64, "<f8"),
    (DType::C64, "<c8"),
    (DType::C128, "<c16"),
];

/// The array of a file's bytes, on the host.
pub(crate) fn decode(file: &[u8]) -> Result<StridedBuffer, String> {
    let (header, data) = split(file)?;
    let dtype = field(header, "descr")?;
    let dtype =
        dtype.strip_prefix(['\'', '"']).and_then(|name| name.split(['\'', '"']).next()).unwrap_or(dtype);
    let dtype = NAMES.iter().find(|(_, name)| *name == dtype).map(|row| row.0).ok_or_else(|| {
        let names: Vec<_> = NAMES.iter().map(|row| row.1).collect();
        format!("dtype `{dtype}` is not supported; supported are {}", names.join(", "))
    })?;
    let shape = field(header, "shape")?
        .strip_prefix('(')
        .and_then(|rest| rest.split(')').next())
        .ok_or("the header's shape is no tuple")?;
    let shape: Vec<usize> = shape
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().map_err(|_| format!("`{part}` is no extent")))
        .collect::<Result<_, _>>()?;
    let layout = match field(header, "fortran_order")?.starts_with("True") {
        false => Layout::contiguous(&shape),
        true => Layout::new(&shape, &column_major(&shape), 0),
    };
    let layout = layout.map_err(|error| error.to_string())?;
    let bytes =
        layout.numel().checked_mul(dtype.size()).ok_or("the array is larger than the address space")?;
    let data = data
        .get(..bytes)
        .ok_or_else(|| format!("the header promises {bytes} bytes of data, the file has {}", data.len()))?;
    StridedBuffer::from_slice(data, &[bytes])
        .and_then(|raw| StridedBuffer::from_storage(raw.storage().clone(), dtype, layout))
        .map_err(|error| error.to_string())
}

/// A file's bytes for the array, row-major.
pub(crate) fn encode(buffer: &StridedBuffer) -> Result<Vec<u8>, String> {
    let dtype = buffer.dtype();
    let name = NAMES.iter().find(|row| row.0 == dtype).map(|row| row.1).ok_or_else(|| {
        format!("npy files cannot hold {dtype}; convert with the op `copy` or choose another dtype")
    })?;
    let shape: String = buffer.shape().iter().map(|extent| format!("{extent},")).collect();
    let mut header = format!("{{'descr': '{name}', 'fortran_order': False, 'shape': ({shape}), }}");
    let prefix = MAGIC.len() + 4;
    let padded = (prefix + header.len() + 1).next_multiple_of(ALIGN);
    header.push_str(&" ".repeat(padded - prefix - header.len() - 1));
    header.push('\n');
    let length = u16::try_from(header.len()).map_err(|_| "the shape is too long for an npy header")?;
    let mut file = [MAGIC, &[1, 0], &length.to_le_bytes(), header.as_bytes()].concat();
    let elements = Elements::of(buffer).map_err(|error| error.to_string())?;
    (0..elements.count()).for_each(|i| file.extend_from_slice(elements.bytes(i)));
    Ok(file)
}

fn column_major(shape: &[usize]) -> Strides {
    let reversed: Vec<usize> = shape.iter().rev().copied().collect();
    contiguous_strides(&reversed).into_iter().rev().collect()
}

/// Header text and data.
fn split(file: &[u8]) -> Result<(&str, &[u8]), String> {
    let short = || "the file ends inside its header".to_owned();
    let rest = file.strip_prefix(MAGIC).ok_or("no npy file: its first bytes are not \\x93NUMPY")?;
    let (&[major, _], rest) = rest.split_first_chunk().ok_or_else(short)?;
    let (length, rest) = if major == 1 {
        let (length, rest) = rest.split_first_chunk().ok_or_else(short)?;
        (usize::from(u16::from_le_bytes(*length)), rest)
    } else if major <= 3 {
        let (length, rest) = rest.split_first_chunk().ok_or_else(short)?;
        (u32::from_le_bytes(*length) as usize, rest)
    } else {
        return Err(format!("npy version {major} is not known; save as version 1 to 3"));
    };
    let (header, data) = rest.split_at_checked(length).ok_or_else(short)?;
    Ok((std::str::from_utf8(header).map_err(|_| "the header is no text")?, data))
}

/// The text behind `'name':` in a header.
fn field<'a>(header: &'a str, name: &str) -> Result<&'a str, String> {
    let quoted = [format!("'{name}'"), format!("\"{name}\"")];
    let missing = || format!("the header has no `{name}`");
    let start =
        quoted.iter().find_map(|key| Some(header.find(key.as_str())? + key.len())).ok_or_else(missing)?;
    let value = header.get(start..).and_then(|rest| rest.trim_start().strip_prefix(':'));
    Ok(value.ok_or_else(missing)?.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gems_ops::device::Device;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let length = u16::try_from(header.len()).unwrap();
        [MAGIC, &[1, 0], &length.to_le_bytes(), header.as_bytes(), data].concat()
    }

    #[test]
    fn what_was_written_is_read_back() {
        let x = StridedBuffer::from_vec(vec![1i16, -2, 3, 4, 5, 6], &[2, 3]).unwrap();
        let bytes = encode(&x).unwrap();
        assert_eq!((bytes.len() - 12) % ALIGN, 0);
        let back = decode(&bytes).unwrap();
        assert_eq!((back.dtype(), back.shape()), (DType::I16, [2, 3].as_slice()));
        assert_eq!(back.to_vec::<i16>().unwrap(), [1, -2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_view_is_written_in_row_major_order() {
        let x = StridedBuffer::from_vec(vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[6]).unwrap();
        let view = x.as_strided(&[3, 2], &[-1, 3], 2).unwrap();
        let back = decode(&encode(&view).unwrap()).unwrap();
        assert_eq!(back.to_vec::<f32>().unwrap(), [3.0, 6.0, 2.0, 5.0, 1.0, 4.0]);
    }

    #[test]
    fn a_0_d_and_an_empty_array_have_their_shapes() {
        for shape in [&[][..], &[0, 3], &[1]] {
            let x = StridedBuffer::zeros(DType::F64, shape, Device::Cpu).unwrap();
            assert_eq!(decode(&encode(&x).unwrap()).unwrap().shape(), shape);
        }
    }

    #[test]
    fn fortran_order_becomes_strides() {
        let header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n";
        let x = decode(&file(header, &[1, 2, 3, 4, 5, 6])).unwrap();
        assert_eq!(x.strides(), [1, 2]);
        assert_eq!(x.to_vec::<u8>().unwrap(), [1, 3, 5, 2, 4, 6]);
    }

    #[test]
    fn damaged_files_are_refused() {
        let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
        for (bytes, message) in [
            (b"PK".to_vec(), "no npy file"),
            (MAGIC.to_vec(), "ends inside its header"),
            (file(good, &[0; 7]), "promises 8 bytes of data, the file has 7"),
            (file("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", &[0; 8]), "dtype `>f4`"),
            (file("{'descr': '<f4', 'shape': (2,)}", &[0; 8]), "no `fortran_order`"),
            (
                file("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", &[]),
                "no extent",
            ),
            (file("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999)}", &[]), ""),
        ] {
            let error = decode(&bytes).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
        for end in 0..file(good, &[0; 8]).len() {
            assert!(decode(&file(good, &[0; 8])[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn dtypes_without_a_name_in_numpy_are_refused() {
        let x = StridedBuffer::zeros(DType::BF16, &[2], Device::Cpu).unwrap();
        assert!(encode(&x).unwrap_err().contains("cannot hold bf16"));
    }
}
