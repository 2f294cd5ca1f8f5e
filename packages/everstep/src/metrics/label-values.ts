/**
 * Bounds the values of a label. The most frequent names keep their own time series; all others share the value `other`. The
 * counts are approximate (the algorithm "Space-Saving"): a name that is not counted yet replaces the rarest one and
 * inherits its count.
 */

export const OTHER = 'other';

/** Number of names that are counted for each name with its own time series. */
const CANDIDATES_PER_NAME = 8;
/** Factor by which a name must be more frequent to replace a name that has its own time series. */
const REPLACEMENT_FACTOR = 2;

export class LabelValues {
  private readonly maxNames: number;
  /** Called with a name that loses its own time series. */
  private readonly onDropped: (name: string) => void;
  private readonly counts = new Map<string, number>();
  private readonly shownNames = new Set<string>();

  constructor(maxNames: number, onDropped: (name: string) => void = () => {}) {
    this.maxNames = maxNames;
    this.onDropped = onDropped;
  }

  /** Counts a name, and returns the value for its label. */
  valueOf(name: string): string {
    const count = this.count(name);
    if (this.shownNames.has(name)) return name;
    if (this.shownNames.size < this.maxNames) {
      this.shownNames.add(name);
      return name;
    }
    // The rarest name is searched only when a count doubles, which is rare.
    if ((count & (count - 1)) !== 0) return OTHER;
    const rarest = this.rarestOf(this.shownNames);
    if (rarest === null || count < REPLACEMENT_FACTOR * (this.counts.get(rarest) ?? 0)) return OTHER;
    this.shownNames.delete(rarest);
    this.shownNames.add(name);
    this.onDropped(rarest);
    return name;
  }

  private count(name: string): number {
    const previous = this.counts.get(name);
    if (previous !== undefined) {
      this.counts.set(name, previous + 1);
      return previous + 1;
    }
    let inheritedCount = 0;
    if (this.counts.size >= this.maxNames * CANDIDATES_PER_NAME) {
      const rarest = this.rarestOf(this.counts.keys(), (candidate) => !this.shownNames.has(candidate));
      if (rarest !== null) {
        inheritedCount = this.counts.get(rarest) ?? 0;
        this.counts.delete(rarest);
      }
    }
    this.counts.set(name, inheritedCount + 1);
    return inheritedCount + 1;
  }

  private rarestOf(names: Iterable<string>, fits: (name: string) => boolean = () => true): string | null {
    let rarest: string | null = null;
    let min = Number.POSITIVE_INFINITY;
    for (const name of names) {
      const count = this.counts.get(name) ?? 0;
      if (count >= min || !fits(name)) continue;
      rarest = name;
      min = count;
    }
    return rarest;
  }
}

const MAX_LENGTH = 200;

/** Returns the label of a URL: without query, fragment and user, which may contain secrets, and at most 200 characters. */
export function labelOfUrl(url: string): string {
  const end = url.search(/[?#]/);
  const withoutUser = (end === -1 ? url : url.slice(0, end)).replace(/^([a-z]+:\/\/)[^/@]*@/i, '$1');
  return withoutUser.slice(0, MAX_LENGTH);
}
