import { readFileSync } from 'node:fs';
import starlight from '@astrojs/starlight';
import { defineConfig, passthroughImageService } from 'astro/config';
import mermaid from 'astro-mermaid';
import starlightLlmsTxt from 'starlight-llms-txt';
import starlightOpenAPI, { openAPISidebarGroups } from 'starlight-openapi';
import { API_DOCUMENTS } from './pages.mjs';

const { groups } = JSON.parse(readFileSync(new URL('.made/navigation.json', import.meta.url), 'utf8'));

export default defineConfig({
  // Where the site is published: llms.txt and the sitemap need absolute addresses.
  site: process.env.SITE_URL ?? 'http://localhost:4321',
  publicDir: '.made/public',
  image: { service: passthroughImageService() },
  telemetry: false,
  integrations: [
    mermaid({ autoTheme: true }),
    starlight({
      title: 'Everstep',
      description: 'Durable workflows over plain HTTP. One command to start, one file to back up.',
      customCss: ['./src/site.css'],
      pagination: true,
      credits: false,
      plugins: [
        starlightOpenAPI(
          API_DOCUMENTS.map(({ name, label }) => ({
            base: `reference/${name}`,
            label,
            schema: `.made/api/${name}.json`,
            collapsed: true,
          })),
        ),
        starlightLlmsTxt({ projectName: 'Everstep', exclude: ['reference/**'] }),
      ],
      sidebar: [
        ...groups.map(({ label, items, collapsed = false }) => ({ label, collapsed, items: items.map((slug) => ({ slug })) })),
        ...openAPISidebarGroups,
      ],
    }),
  ],
});
