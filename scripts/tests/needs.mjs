/** Determines what a test file needs besides Node, from its code and the test support that it imports. */
import { Imports } from './imports.mjs';

/** Matches test support. Product code is not searched: a test that imports the PostgreSQL store does not need a database. */
const SUPPORT = /\.(test|fixture)\.m?js$|[\\/](testing|conformance|simulation|scripts)[\\/]/;

const NEEDS = {
  processes: (name) => ['node:child_process', 'node:worker_threads', 'node:cluster'].includes(name),
  postgres: (name) => name === 'pg',
  browser: (name) => name === 'playwright-core',
};

/** Matches code that changes the process for other files, or depends on their changes. After a quote, it is part of a string. */
const OWN_STATE =
  /(?<!['"`])\b(process\.(env\.\w+ \??\??=[^=]|on\(|once\(|emit|exit|memoryUsage|chdir|umask|stdout\.|stderr\.)|delete process\.env|Object\.assign\(process\b|globalThis(\.\w+ =[^=]|,)|mock\.|setGlobalDispatcher\b)|node:(v8|vm|perf_hooks|diagnostics_channel)/;
/** Matches a top-level await. Files that share a process are loaded with `require`, which cannot wait. */
const TOP_LEVEL_AWAIT = /^(?!.*\basync\b)(await\b|[^\s/*].*\bawait\b)/m;

/**
 * @typedef {object} Needs
 * @property {boolean} processes it starts processes
 * @property {boolean} postgres
 * @property {boolean} browser
 * @property {boolean} ownProcess it needs a separate process, because it needs any of the above, waits while it is loaded, or
 *   changes the state of the process
 */

/**
 * @param {string} file compiled test file, absolute
 * @param {Imports} [imports]
 * @returns {Needs}
 */
export function needsOf(file, imports = new Imports()) {
  const needs = { processes: false, postgres: false, browser: false, ownProcess: false };
  const files = new Set([file]);
  for (const currentFile of files) {
    const text = imports.textOf(currentFile);
    const fileImports = imports.importsOf(currentFile);
    for (const [need, isNeeded] of Object.entries(NEEDS)) needs[need] ||= fileImports.packages.some(isNeeded);
    needs.ownProcess ||= OWN_STATE.test(text) || TOP_LEVEL_AWAIT.test(text);
    for (const imported of fileImports.files) if (SUPPORT.test(imported)) files.add(imported);
  }
  needs.ownProcess ||= needs.processes || needs.postgres || needs.browser;
  return needs;
}

/** Returns whether a test file belongs to `npm run test:quick`: it needs only Node and little time. */
export const isQuick = ({ file, source }, imports) => {
  const { processes, postgres, browser } = needsOf(file, imports);
  return !processes && !postgres && !browser && !/[\\/]end-to-end[\\/]/.test(source);
};
