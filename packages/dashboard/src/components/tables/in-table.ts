import { createContext } from 'react';

/** Whether a component is rendered in a table row. The row then takes the focus instead of its parts. */
export const InTable = createContext(false);
