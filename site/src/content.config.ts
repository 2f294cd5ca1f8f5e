import { defineCollection } from 'astro:content';
import { docsSchema } from '@astrojs/starlight/schema';
import { glob } from 'astro/loaders';

/** Written by build.mjs from the Markdown files of the repository. */
export const collections = {
  docs: defineCollection({ loader: glob({ base: './.made/pages', pattern: '**/*.md' }), schema: docsSchema() }),
};
