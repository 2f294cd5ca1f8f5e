/** A check of one invariant. */
export interface ConsistencyCheck {
  readonly id: string;
  /** The rule, as a sentence. */
  readonly rule: string;
  readonly sqlite: string;
  readonly postgres: string;
}
