/* uncounted.c - what the sanitized build calls in front of each basic block, in the programs that
 * do not count them. growth has a counter of its own (src/base/pages.c with PT2ONNX_FAULTS). */
void __sanitizer_cov_trace_pc(void);

#ifdef __clang__
__attribute__((no_sanitize("coverage")))
#else
__attribute__((no_sanitize_coverage))
#endif
void __sanitizer_cov_trace_pc(void)
{
}
