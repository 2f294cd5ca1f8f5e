/** Counts test results by file. Only tests count, not suites. */
import { isAbsolute, relative, sep } from 'node:path';

/**
 * A failed test fails every suite around it, but only the test counts. A suite that fails for another reason, such as a hook
 * that throws, counts like a test.
 */
const isOnlyContainer = (type, { details }) =>
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

  /** Returns the source of a file. Suites shared by several test files are in files that are not tests themselves. */
  sourceOf(file) {
    const path = relative(this.root, file).replace(`${sep}dist${sep}`, `${sep}src${sep}`);
    return this.sources.get(file) ?? (isAbsolute(file) ? path.replace(/\.js$/, '.ts') : file);
  }

  /** @param {'test:pass' | 'test:fail'} type */
  add(type, event) {
    // A file without tests, or one that fails before its first test, is reported as a test with the name of the file. A file that
    // shares a process with others is a suite with that name.
    const fileSource = event.nesting === 0 ? this.sources.get(event.name) : undefined;
    const isFile = fileSource !== undefined;
    const source = fileSource ?? this.sourceOf(event.file ?? 'unknown file');
    if (isFile && type === 'test:pass' && event.details.type !== 'suite') return;
    const existingCounts = this.files.get(source);
    if (isFile && isOnlyContainer(type, event)) {
      // The tests of a suite are reported before it. If there are no results yet, the file has no tests.
      if (existingCounts) existingCounts.durationMs += event.details.duration_ms;
      return;
    }
    const counts = existingCounts ?? { passed: 0, failed: 0, skipped: 0, durationMs: 0 };
    this.files.set(source, counts);
    if (event.nesting === 0) counts.durationMs += event.details.duration_ms;
    if (isOnlyContainer(type, event)) return;
    let outcome = type === 'test:pass' ? 'passed' : 'failed';
    if (event.skip !== undefined || event.todo !== undefined) outcome = 'skipped';
    counts[outcome]++;
    this[outcome]++;
    if (outcome === 'failed') {
      this.failures.push({ source, line: event.line, name: isFile ? source : event.name, error: event.details.error });
    }
  }

  /** Adds results counted elsewhere. No file is counted in both. */
  include(other) {
    for (const outcome of ['passed', 'failed', 'skipped']) this[outcome] += other[outcome];
    for (const [source, counts] of other.files) {
      const existingCounts = this.files.get(source);
      // The file contains suites that several test files share.
      if (existingCounts) for (const key of Object.keys(counts)) existingCounts[key] += counts[key];
      else this.files.set(source, { ...counts });
    }
    this.failures.push(...other.failures);
  }

  /** @returns {string[]} sources without results */
  filesWithoutResults() {
    return [...new Set(this.sources.values())].filter((source) => !this.files.has(source));
  }
}
