export * from '../../records/columns.js';

const NO_BYTES = new Uint8Array(new ArrayBuffer(8), 0, 0);

/** Returns bytes to write. Node 22 writes empty bytes as null unless they are part of a larger buffer. */
export const blob = (value: Uint8Array): Uint8Array => (value.length === 0 ? NO_BYTES : value);
