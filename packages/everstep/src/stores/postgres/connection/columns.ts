export * from '../../records/columns.js';
