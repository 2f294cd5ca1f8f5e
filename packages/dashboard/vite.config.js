import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Where the service of a developer listens; `npm run dev` in this folder passes its API on to it. */
const service = process.env.EVERSTEP_URL ?? 'http://127.0.0.1:8080';

export default defineConfig({
  plugins: [react()],
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
