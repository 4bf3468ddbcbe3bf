/** Modular arithmetic with large numbers, for the unicorn. Not constant-time: nothing here is secret. */

/** Rounds of the primality test; each passes a composite with a probability below 1/4. */
const PRIMALITY_ROUNDS = 15;
const SMALL_PRIMES = [2n, 3n, 5n, 7n, 11n, 13n, 17n, 19n, 23n, 29n, 31n, 37n, 41n, 43n, 47n];

/** `base` to the power of `exponent` modulo `modulus`; base at least 0, modulus above 1. */
export function modPow(base: bigint, exponent: bigint, modulus: bigint): bigint {
  const reduce = reduction(modulus);
  const start = base % modulus;
  let result = 1n;
  // From left to right: the exponents of sloth are a one and zeros, so nearly every step only squares.
  for (const bit of exponent.toString(2)) {
    result = reduce(result * result);
    if (bit === '1') result = reduce(result * start);
  }
  return result;
}

/** Miller-Rabin with the first 15 primes as bases. */
export function isProbablePrime(n: bigint): boolean {
  if (n < 2n) return false;
  for (const prime of SMALL_PRIMES) {
    if (n === prime) return true;
    if (n % prime === 0n) return false;
  }
  let odd = n - 1n;
  let twos = 0;
  while ((odd & 1n) === 0n) {
    odd >>= 1n;
    twos += 1;
  }
  return SMALL_PRIMES.slice(0, PRIMALITY_ROUNDS).every((base) => passesRound(n, base, odd, twos));
}

function passesRound(n: bigint, base: bigint, odd: bigint, twos: number): boolean {
  let x = modPow(base, odd, n);
  if (x === 1n || x === n - 1n) return true;
  for (let i = 1; i < twos; i++) {
    x = (x * x) % n;
    if (x === n - 1n) return true;
  }
  return false;
}

/** Reduction modulo 2^k - 1, like the network's modulus, by folding, which is twice as fast as division. */
function reduction(modulus: bigint): (value: bigint) => bigint {
  if ((modulus & (modulus + 1n)) !== 0n) return (value) => value % modulus;
  const bits = BigInt(modulus.toString(2).length);
  return (value) => {
    let folded = (value & modulus) + (value >> bits);
    while (folded > modulus) folded = (folded & modulus) + (folded >> bits);
    return folded === modulus ? 0n : folded;
  };
}
