#!/usr/bin/env node
// Here and not in dist, so that it exists when npm links it, before anything is built.
import '../dist/cli/bin.js';
