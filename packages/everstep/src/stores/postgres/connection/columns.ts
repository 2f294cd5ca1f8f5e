/** Readers of columns, which both SQL stores share. */
export * from '../../records/columns.js';
