import { createContext } from 'react';

/** Whether what is rendered stands in a row of a table, which has the focus instead of its parts. */
export const InTable = createContext(false);
