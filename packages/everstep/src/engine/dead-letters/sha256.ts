/** SHA-256 without Node: the engine has no dependencies on the environment, and fingerprints must never change. */

/** Returns the first 32 bits of the fractional parts of square (n = 2) or cube (n = 3) roots of the first primes. */
function rootsOfPrimes(count: number, n: 2 | 3): Uint32Array {
  const roots = new Uint32Array(count);
  const primes: number[] = [];
  for (let candidate = 2; primes.length < count; candidate++) {
    if (primes.some((prime) => candidate % prime === 0)) continue;
    const root = n === 2 ? Math.sqrt(candidate) : Math.cbrt(candidate);
    roots[primes.length] = Math.floor((root - Math.floor(root)) * 2 ** 32);
    primes.push(candidate);
  }
  return roots;
}

const ROUND_CONSTANTS = rootsOfPrimes(64, 3);
const INITIAL_STATE = rootsOfPrimes(8, 2);
const BLOCK_BYTES = 64;

const rotate = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits));
const wordAt = (words: Uint32Array, index: number): number => words[index] ?? 0;

/** Returns the text in UTF-8 with the padding of SHA-256: a one bit, zeros, and the number of bits. */
function padMessage(text: string): DataView {
  const bytes = new TextEncoder().encode(text);
  const blocks = Math.ceil((bytes.length + 9) / BLOCK_BYTES);
  const padded = new Uint8Array(blocks * BLOCK_BYTES);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor((bytes.length * 8) / 2 ** 32));
  view.setUint32(padded.length - 4, (bytes.length * 8) >>> 0);
  return view;
}

function processBlock(state: Uint32Array, words: Uint32Array): void {
  for (let i = 16; i < 64; i++) {
    const early = wordAt(words, i - 15);
    const late = wordAt(words, i - 2);
    const small0 = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3);
    const small1 = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10);
    words[i] = wordAt(words, i - 16) + small0 + wordAt(words, i - 7) + small1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < 64; i++) {
    const big1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const temp1 = (h + big1 + ((e & f) ^ (~e & g)) + wordAt(ROUND_CONSTANTS, i) + wordAt(words, i)) | 0;
    const big0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const temp2 = (big0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + temp1) | 0;
    d = c;
    c = b;
    b = a;
    a = (temp1 + temp2) | 0;
  }
  const mixed = [a, b, c, d, e, f, g, h];
  for (let i = 0; i < mixed.length; i++) state[i] = wordAt(state, i) + (mixed[i] ?? 0);
}

/** Returns the digest of the text in UTF-8, as 64 lowercase hexadecimal digits. */
export function sha256(text: string): string {
  const view = padMessage(text);
  const state = Uint32Array.from(INITIAL_STATE);
  const words = new Uint32Array(64);
  for (let block = 0; block < view.byteLength; block += BLOCK_BYTES) {
    for (let i = 0; i < 16; i++) words[i] = view.getUint32(block + i * 4);
    processBlock(state, words);
  }
  return Array.from(state, (word) => word.toString(16).padStart(8, '0')).join('');
}
