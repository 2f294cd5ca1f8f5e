// The CycloneDX bill of materials of the server. The same lock file gives the same bytes.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DASHBOARD = 'packages/dashboard/src';

/** Packages of the lock file, read by npm without a network. --omit=dev also omits packages shared with development dependencies. */
function npmBill() {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed with exit code ${status}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Packages whose code is bundled into the dashboard. */
function bundledPackages() {
  const sources = readdirSync(join(ROOT, DASHBOARD), { recursive: true }).filter((name) => /\.tsx?$/.test(name));
  const imports = sources
    .filter((name) => !name.includes('.test.'))
    .flatMap((name) => [...readFileSync(join(ROOT, DASHBOARD, name), 'utf8').matchAll(/\bfrom '([^.'][^']*)'/g)])
    .map(([, from]) =>
      from
        .split('/')
        .slice(0, from.startsWith('@') ? 2 : 1)
        .join('/'),
    );
  return new Set(imports.filter((name) => !name.startsWith('node:')));
}

const nameOf = (ref) => ref.slice(0, ref.lastIndexOf('@'));

/** Packages that the build of the dashboard replaces with Preact (`resolve.alias` in packages/dashboard/vite.config.js). */
const REPLACED = ['react', 'react-dom'];

/** Returns the given packages and all their dependencies, except the replaced ones. */
function closure({ dependencies }, refs) {
  const edges = new Map(dependencies.map(({ ref, dependsOn = [] }) => [ref, dependsOn]));
  const found = new Set();
  for (const open = [...refs]; open.length > 0; ) {
    const ref = open.pop();
    if (found.has(ref) || REPLACED.includes(nameOf(ref))) continue;
    found.add(ref);
    open.push(...(edges.get(ref) ?? []));
  }
  return found;
}

const byRef = (a, b) => (a < b ? -1 : 1);

/** Returns the CycloneDX document. */
export function billOfMaterials() {
  const { version, description, license, dependencies } = JSON.parse(
    readFileSync(join(ROOT, 'packages/everstep/package.json'), 'utf8'),
  );
  const everything = npmBill();
  const own = `everstep@${version}`;
  const bundled = bundledPackages();
  const inPages = everything.components.map((component) => component['bom-ref']).filter((ref) => bundled.has(nameOf(ref)));
  const edges = new Map(everything.dependencies.map((edge) => [edge.ref, edge]));
  const installed = edges.get(own).dependsOn.filter((ref) => nameOf(ref) in dependencies);
  const included = new Set([own, ...closure(everything, [...installed, ...inPages])]);
  const components = new Map(everything.components.map((component) => [component['bom-ref'], component]));
  const refs = [...included].sort(byRef);
  const dependsOn = (ref) => {
    const named = (edges.get(ref)?.dependsOn ?? []).filter((each) => included.has(each));
    return [...new Set(ref === own ? [...named, ...inPages.filter((each) => included.has(each))] : named)].sort(byRef);
  };
  const content = {
    metadata: {
      tools: [{ vendor: 'npm', name: 'cli' }],
      component: {
        'bom-ref': own,
        type: 'application',
        name: 'everstep',
        version,
        description,
        purl: `pkg:npm/everstep@${version}`,
        licenses: [{ license: { id: license } }],
      },
    },
    components: refs.filter((ref) => ref !== own).map((ref) => ({ ...components.get(ref), scope: 'required' })),
    dependencies: refs.map((ref) => ({ ref, dependsOn: dependsOn(ref) })),
  };
  // Derived from the content instead of random, and without a time, so that the output is reproducible.
  const hex = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  const uuid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  const { bomFormat, specVersion, $schema } = everything;
  return { $schema, bomFormat, specVersion, serialNumber: `urn:uuid:${uuid}`, version: 1, ...content };
}
