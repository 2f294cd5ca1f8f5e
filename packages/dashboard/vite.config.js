import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { defineConfig } from 'vite';

/** URL of the server that `npm run dev` forwards API requests to. */
const server = process.env.EVERSTEP_URL ?? 'http://127.0.0.1:8080';

/** Files below this size hardly shrink when compressed. */
const MIN_BYTES = 1024;

/** Compresses each asset at build time, so that the server does not have to. */
const compressAssets = {
  name: 'compress-assets',
  apply: 'build',
  async writeBundle({ dir }) {
    const assets = join(dir, 'assets');
    const names = (await readdir(assets)).filter((name) => /\.(?:js|css|svg)$/.test(name));
    await Promise.all(
      names.map(async (name) => {
        const bytes = await readFile(join(assets, name));
        if (bytes.length < MIN_BYTES) return;
        const [br, gz] = await Promise.all([promisify(brotliCompress)(bytes), promisify(gzip)(bytes, { level: 9 })]);
        await Promise.all([writeFile(join(assets, `${name}.br`), br), writeFile(join(assets, `${name}.gz`), gz)]);
      }),
    );
  },
};

export default defineConfig({
  plugins: [compressAssets],
  // Preact implements the same interface in a tenth of the size.
  resolve: {
    alias: [
      { find: /^react(-dom)?$/, replacement: 'preact/compat' },
      { find: /^react\/(jsx-(?:dev-)?runtime)$/, replacement: 'preact/$1' },
    ],
  },
  build: {
    outDir: '../everstep/static',
    emptyOutDir: true,
    // The test of the size of the first page reads which chunks depend on which.
    manifest: true,
    // No inlined assets: the content security policy forbids data URLs for scripts and styles.
    assetsInlineLimit: 0,
    target: 'es2023',
    rolldownOptions: {
      output: {
        // Each file costs a request and its headers, so what most pages share is in two files.
        codeSplitting: {
          groups: [
            { name: 'lists', test: /components\/(?:tables|charts)\/|@tanstack\/(?:react-)?virtual/, minShareCount: 4 },
            { name: 'shared', test: /dashboard\/src\/(?:components|api)\//, minShareCount: 8 },
          ],
        },
      },
      onLog(level, log, handle) {
        // Libraries mark modules for servers that render pages; the bundle needs no marks.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log);
      },
    },
    // A test checks compressed sizes.
    reportCompressedSize: false,
  },
  server: {
    proxy: Object.fromEntries(['/v2', '/search', '/health', '/openapi.json'].map((path) => [path, { target: server }])),
  },
});
