/** Finds the imports of compiled files. A file that another one starts as a process or a worker counts as imported. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve, sep } from 'node:path';

const IMPORT =
  /(?:\bfrom\s*|^import\s*|\bimport\(\s*)(['"])([^'"\n]+)\1|new URL\((['"])(\.[^'"\n]+\.m?js)\3,\s*import\.meta\.url\)/gm;

/** Reads and parses each file once. */
export class Imports {
  #texts = new Map();
  #imports = new Map();

  /** @returns {string} content of the file; empty if it does not exist */
  textOf(file) {
    if (!this.#texts.has(file)) this.#texts.set(file, existsSync(file) ? readFileSync(file, 'utf8') : '');
    return this.#texts.get(file);
  }

  /** @returns {{ files: readonly string[], packages: readonly string[] }} absolute paths; specifiers that are not relative */
  importsOf(file) {
    const cached = this.#imports.get(file);
    if (cached) return cached;
    const [files, packages] = [new Set(), new Set()];
    for (const [, , specifier, , url] of this.textOf(file).matchAll(IMPORT)) {
      const name = specifier ?? url;
      if (name.startsWith('.')) files.add(resolve(dirname(file), name));
      else packages.add(name);
    }
    const fileImports = { files: [...files], packages: [...packages] };
    this.#imports.set(file, fileImports);
    return fileImports;
  }
}

/** @returns {string[]} compiled files and scripts of the repository, absolute */
export function modulesIn(root) {
  const list = (directory) =>
    existsSync(join(root, directory))
      ? readdirSync(join(root, directory), { recursive: true }).map((name) => join(root, directory, name))
      : [];
  const children = (directory) => readdirSync(join(root, directory)).map((name) => join(directory, name, 'dist'));
  return [...children('packages'), ...children('examples'), join('bench', 'dist'), 'scripts']
    .flatMap(list)
    .filter((file) => /\.m?js$/.test(file) && !file.includes(`${sep}node_modules${sep}`));
}

/**
 * Returns every file that imports one of `changedFiles`, directly or indirectly, and these files themselves.
 *
 * @param {string} root of the repository, absolute
 * @param {Iterable<string>} changedFiles absolute paths of compiled files and scripts
 * @param {Imports} [imports]
 */
export function importersOf(root, changedFiles, imports = new Imports()) {
  const importers = new Map();
  for (const file of modulesIn(root)) {
    const { files, packages } = imports.importsOf(file);
    const workspaceFiles = packages.filter((name) => name.startsWith('@everstep/')).flatMap((name) => workspaceFile(file, name));
    for (const imported of [...files, ...workspaceFiles]) importers.set(imported, [...(importers.get(imported) ?? []), file]);
  }
  const affectedFiles = new Set(changedFiles);
  for (const file of affectedFiles) for (const importer of importers.get(file) ?? []) affectedFiles.add(importer);
  return affectedFiles;
}

/** Returns the file of a workspace package, which is imported by its name, as a list. */
function workspaceFile(file, name) {
  try {
    return [createRequire(file).resolve(name)];
  } catch {
    return [];
  }
}
