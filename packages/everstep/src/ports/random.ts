/** A source of unguessable bytes; seeded in simulations. */
export interface Random {
  bytes(count: number): Uint8Array;
}
