// Creates the CycloneDX bill of materials of the server. The same lock file produces the same bytes.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DASHBOARD = 'packages/dashboard/src';

/** Returns the packages of the lock file. --omit=dev would also omit packages shared with development dependencies. */
function npmBill() {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed with exit code ${status}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Returns the names of the packages whose code is bundled into the dashboard. */
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
const REPLACED_PACKAGES = ['react', 'react-dom'];

/** Returns the given packages and all their dependencies, except the replaced ones. */
function dependencyClosure({ dependencies }, refs) {
  const edges = new Map(dependencies.map(({ ref, dependsOn = [] }) => [ref, dependsOn]));
  const refsInClosure = new Set();
  for (const pendingRefs = [...refs]; pendingRefs.length > 0; ) {
    const ref = pendingRefs.pop();
    if (refsInClosure.has(ref) || REPLACED_PACKAGES.includes(nameOf(ref))) continue;
    refsInClosure.add(ref);
    pendingRefs.push(...(edges.get(ref) ?? []));
  }
  return refsInClosure;
}

const byRef = (a, b) => (a < b ? -1 : 1);

/** Returns the CycloneDX document. */
export function billOfMaterials() {
  const { version, description, license, dependencies } = JSON.parse(
    readFileSync(join(ROOT, 'packages/everstep/package.json'), 'utf8'),
  );
  const npmDocument = npmBill();
  const serverRef = `everstep@${version}`;
  const bundledNames = bundledPackages();
  const dashboardRefs = npmDocument.components
    .map((component) => component['bom-ref'])
    .filter((ref) => bundledNames.has(nameOf(ref)));
  const edges = new Map(npmDocument.dependencies.map((edge) => [edge.ref, edge]));
  const runtimeRefs = edges.get(serverRef).dependsOn.filter((ref) => nameOf(ref) in dependencies);
  const includedRefs = new Set([serverRef, ...dependencyClosure(npmDocument, [...runtimeRefs, ...dashboardRefs])]);
  const components = new Map(npmDocument.components.map((component) => [component['bom-ref'], component]));
  const refs = [...includedRefs].sort(byRef);
  const dependsOn = (ref) => {
    const directRefs = (edges.get(ref)?.dependsOn ?? []).filter((ref) => includedRefs.has(ref));
    return [
      ...new Set(ref === serverRef ? [...directRefs, ...dashboardRefs.filter((ref) => includedRefs.has(ref))] : directRefs),
    ].sort(byRef);
  };
  const content = {
    metadata: {
      tools: [{ vendor: 'npm', name: 'cli' }],
      component: {
        'bom-ref': serverRef,
        type: 'application',
        name: 'everstep',
        version,
        description,
        purl: `pkg:npm/everstep@${version}`,
        licenses: [{ license: { id: license } }],
      },
    },
    components: refs.filter((ref) => ref !== serverRef).map((ref) => ({ ...components.get(ref), scope: 'required' })),
    dependencies: refs.map((ref) => ({ ref, dependsOn: dependsOn(ref) })),
  };
  // The serial number is derived from the content, and the document contains no timestamp, so that the output is reproducible.
  const hex = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  const uuid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  const { bomFormat, specVersion, $schema } = npmDocument;
  return { $schema, bomFormat, specVersion, serialNumber: `urn:uuid:${uuid}`, version: 1, ...content };
}
