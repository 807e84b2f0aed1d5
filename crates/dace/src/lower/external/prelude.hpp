// What DaCe's own headers define and code of tasklets names.
#include <cfloat>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <math.h>

#define DACE_HDFI inline
#define DACE_CONSTEXPR constexpr
#define DACE_EXPORTED extern "C"
#define DACE_ALIGN(N) __attribute__((aligned(N)))

using std::abs;

template <typename T> constexpr T min(const T& value) { return value; }
template <typename T, typename... Ts> constexpr std::common_type_t<T, Ts...> min(const T& value, const Ts&... values) {
    return value < min(values...) ? value : min(values...);
}
template <typename T> constexpr T max(const T& value) { return value; }
template <typename T, typename... Ts> constexpr std::common_type_t<T, Ts...> max(const T& value, const Ts&... values) {
    return value > max(values...) ? value : max(values...);
}
template <typename T, typename... Ts> constexpr T Min(T value, Ts... values) { return min(value, values...); }
template <typename T, typename... Ts> constexpr T Max(T value, Ts... values) { return max(value, values...); }
template <typename T> constexpr T Abs(T value) { return abs(value); }
template <typename T, typename U> constexpr T int_floor(const T& a, const U& b) { return a / b; }
template <typename T, typename U> constexpr T int_ceil(const T& a, const U& b) { return (a + b - 1) / b; }
template <typename T> constexpr int sgn(T value) { return (T(0) < value) - (value < T(0)); }
template <typename T> constexpr T sign(const T& value) { return T((T(0) < value) - (value < T(0))); }
template <typename T> constexpr T heaviside(const T& value) { return value > T(0) ? T(1) : value < T(0) ? T(0) : T(0.5); }
template <typename T> constexpr T reciprocal(const T& value) { return T(1) / value; }
template <typename T, typename U>
constexpr std::common_type_t<T, U> IfExpr(bool condition, const T& then, const U& otherwise) {
    return condition ? then : otherwise;
}
template <typename T> T ipow(const T& base, int exponent) {
    T result = T(1);
    for (int i = 0; i < (exponent < 0 ? -exponent : exponent); ++i) result *= base;
    return exponent < 0 ? T(1) / result : result;
}
template <typename T> std::enable_if_t<std::is_integral<T>::value, T> py_floor(const T& a, const T& b) {
    T quotient = a / b;
    return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}
template <typename T> std::enable_if_t<std::is_floating_point<T>::value, T> py_floor(const T& a, const T& b) {
    return std::floor(a / b);
}
template <typename T> T py_mod(const T& a, const T& b) { return a - b * py_floor(a, b); }
template <typename T> std::enable_if_t<std::is_integral<T>::value, T> cpp_mod(const T& a, const T& b) { return a % b; }
template <typename T> std::enable_if_t<std::is_floating_point<T>::value, T> cpp_mod(const T& a, const T& b) {
    return std::fmod(a, b);
}

namespace dace {
using bool_ = bool;
using int8 = std::int8_t;
using int16 = std::int16_t;
using int32 = std::int32_t;
using int64 = std::int64_t;
using uint8 = std::uint8_t;
using uint16 = std::uint16_t;
using uint32 = std::uint32_t;
using uint64 = std::uint64_t;
using uint = unsigned int;
using uintp = std::uintptr_t;
#ifdef __FLT16_MAX__
using float16 = _Float16;
#endif
using float32 = float;
using float64 = double;
using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

// Neighbours that are computed with at once.
template <typename T, std::size_t N> struct vectors {
    typedef T type __attribute__((vector_size(N * sizeof(T)), aligned(sizeof(T))));
};
template <typename T, std::size_t N> using vec = typename vectors<T, N>::type;

namespace math {
using ::cpp_mod;
using ::heaviside;
using ::ipow;
using ::max;
using ::min;
using ::py_floor;
using ::py_mod;
using ::sign;
using std::abs;
using std::acos;
using std::acosh;
using std::asin;
using std::asinh;
using std::atan;
using std::atan2;
using std::atanh;
using std::cbrt;
using std::ceil;
using std::conj;
using std::cos;
using std::cosh;
using std::erf;
using std::erfc;
using std::exp;
using std::exp2;
using std::expm1;
using std::floor;
using std::fmod;
using std::hypot;
using std::lgamma;
using std::log;
using std::log10;
using std::log1p;
using std::log2;
using std::pow;
using std::round;
using std::sin;
using std::sinh;
using std::sqrt;
using std::tan;
using std::tanh;
using std::tgamma;
using std::trunc;
template <typename T> int ifloor(const T& value) { return static_cast<int>(std::floor(value)); }
}  // namespace math
}  // namespace dace
