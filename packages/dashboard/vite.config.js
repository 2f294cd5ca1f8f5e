import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Where the service of a developer listens; `npm run dev` in this folder passes its API on to it. */
const service = process.env.EVERSTEP_URL ?? 'http://127.0.0.1:8080';

/** Below this a file is hardly smaller when it is packed. */
const LEAST_BYTES = 1024;

/** Packs each asset once and for all, so that the service sends it without doing so when it is first asked for. */
const packed = {
  name: 'packed-assets',
  apply: 'build',
  async writeBundle({ dir }) {
    const assets = join(dir, 'assets');
    const names = (await readdir(assets)).filter((name) => /\.(?:js|css|svg)$/.test(name));
    await Promise.all(
      names.map(async (name) => {
        const bytes = await readFile(join(assets, name));
        if (bytes.length < LEAST_BYTES) return;
        const [br, gz] = await Promise.all([promisify(brotliCompress)(bytes), promisify(gzip)(bytes, { level: 9 })]);
        await Promise.all([writeFile(join(assets, `${name}.br`), br), writeFile(join(assets, `${name}.gz`), gz)]);
      }),
    );
  },
};

export default defineConfig({
  plugins: [react(), packed],
  build: {
    outDir: '../everstep/static',
    emptyOutDir: true,
    // Which chunk needs which: the test on the size of the first page reads it.
    manifest: true,
    // Everything is a file of its own: the policy of the pages allows no data URL for scripts and styles.
    assetsInlineLimit: 0,
    target: 'es2023',
    // The service compresses what it serves; sizes are asserted by a test.
    reportCompressedSize: false,
  },
  server: {
    proxy: Object.fromEntries(['/v2', '/search', '/health', '/openapi.json'].map((path) => [path, { target: service }])),
  },
});
