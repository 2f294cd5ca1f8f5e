/** Name and mark of the product. */
export const Brand = () => (
  <span className="brand">
    <svg className="brand-mark" viewBox="0 0 32 32" fill="none" aria-hidden="true">
      <path d="M5 26h8v-8h7v-8h7" stroke="currentColor" strokeWidth="4.5" strokeLinecap="round" strokeLinejoin="round" />
    </svg>
    Everstep
  </span>
);
