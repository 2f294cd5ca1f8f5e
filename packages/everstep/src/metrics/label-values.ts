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
    const rarestName = this.rarestOf(this.shownNames);
    if (rarestName === null || count < REPLACEMENT_FACTOR * (this.counts.get(rarestName) ?? 0)) return OTHER;
    this.shownNames.delete(rarestName);
    this.shownNames.add(name);
    this.onDropped(rarestName);
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
      const rarestName = this.rarestOf(this.counts.keys(), (candidate) => !this.shownNames.has(candidate));
      if (rarestName !== null) {
        inheritedCount = this.counts.get(rarestName) ?? 0;
        this.counts.delete(rarestName);
      }
    }
    this.counts.set(name, inheritedCount + 1);
    return inheritedCount + 1;
  }

  private rarestOf(names: Iterable<string>, isEligible: (name: string) => boolean = () => true): string | null {
    let rarestName: string | null = null;
    let minCount = Number.POSITIVE_INFINITY;
    for (const name of names) {
      const count = this.counts.get(name) ?? 0;
      if (count >= minCount || !isEligible(name)) continue;
      rarestName = name;
      minCount = count;
    }
    return rarestName;
  }
}

const MAX_LENGTH = 200;

/** Returns the label of a URL: without query, fragment and user, which may contain secrets, and at most 200 characters. */
export function labelOfUrl(url: string): string {
  const end = url.search(/[?#]/);
  const withoutUser = (end === -1 ? url : url.slice(0, end)).replace(/^([a-z]+:\/\/)[^/@]*@/i, '$1');
  return withoutUser.slice(0, MAX_LENGTH);
}
