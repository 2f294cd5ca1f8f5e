/** Counts what a test stream reports: leaves only, by file. */
import { isAbsolute, relative, sep } from 'node:path';

/**
 * One failed test fails every suite around it; only the test itself is counted. A suite that fails by itself (a hook
 * threw) counts like a test.
 */
const onlyContains = (type, { details }) =>
  type === 'test:pass' ? details?.type === 'suite' : details?.error?.failureType === 'subtestsFailed';

export class Tally {
  passed = 0;
  failed = 0;
  skipped = 0;
  /** @type {Map<string, { passed: number, failed: number, skipped: number, durationMs: number }>} by source */
  files = new Map();
  /** @type {{ source: string, line: number | undefined, name: string, error: unknown }[]} */
  failures = [];

  /**
   * @param {{ file: string, source: string }[]} tests
   * @param {string} root of the repository, absolute
   */
  constructor(tests, root) {
    this.root = root;
    this.sources = new Map(
      tests.flatMap(({ file, source }) => [
        [file, source],
        [source, source],
      ]),
    );
  }

  /** Suites that several test files run are in files of their own. */
  sourceOf(file) {
    const path = relative(this.root, file).replace(`${sep}dist${sep}`, `${sep}src${sep}`);
    return this.sources.get(file) ?? (isAbsolute(file) ? path.replace(/\.js$/, '.ts') : file);
  }

  /** @param {'test:pass' | 'test:fail'} type */
  add(type, event) {
    const source = this.sourceOf(event.file ?? 'unknown file');
    // A file without tests, or one that broke before its first, is reported as a test named like the file.
    const isFile = event.nesting === 0 && this.sources.get(event.name) === source;
    if (isFile && type === 'test:pass') return;
    const counts = this.files.get(source) ?? { passed: 0, failed: 0, skipped: 0, durationMs: 0 };
    this.files.set(source, counts);
    if (event.nesting === 0) counts.durationMs += event.details.duration_ms;
    if (onlyContains(type, event)) return;
    let outcome = type === 'test:pass' ? 'passed' : 'failed';
    if (event.skip !== undefined || event.todo !== undefined) outcome = 'skipped';
    counts[outcome]++;
    this[outcome]++;
    if (outcome === 'failed') {
      this.failures.push({ source, line: event.line, name: isFile ? source : event.name, error: event.details.error });
    }
  }

  /** Counts what was counted elsewhere as well; no file was counted in both. */
  include(other) {
    for (const outcome of ['passed', 'failed', 'skipped']) this[outcome] += other[outcome];
    for (const [source, counts] of other.files) {
      const known = this.files.get(source);
      // A file of suites that several test files run.
      if (known) for (const key of Object.keys(counts)) known[key] += counts[key];
      else this.files.set(source, { ...counts });
    }
    this.failures.push(...other.failures);
  }

  /** @returns {string[]} sources of which nothing was reported */
  silent() {
    return [...new Set(this.sources.values())].filter((source) => !this.files.has(source));
  }
}
