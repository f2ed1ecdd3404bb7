/* SPDX-License-Identifier: MIT */
/* What the page and its pictures share: style, text, and what a pointer over a layer shows. */
#include "report.h"

#include <limits.h>
#include <inttypes.h>
#include <string.h>

const char markup_style[] =
":root{--bg:#ffffff;--card:#f5f7fa;--fg:#1a2230;--dim:#5d6b80;--line:#d9dfe8;--band:#e9edf3;"
"--compute:#2f6fdb;--busy:#a9c4f2;--stall:#ee8a33;--control:#98a3b3;--weights:#7c5cd6;--load:#1f9e92;"
"--store:#cc4a80;--cpu:#57902f}\n"
"@media(prefers-color-scheme:dark){:root{--bg:#12161d;--card:#1b212b;--fg:#e6eaf1;--dim:#96a3b6;"
"--line:#323b49;--band:#262e3a;--compute:#5b95f5;--busy:#2c4a7c;--stall:#f59e4b;--control:#6d7a8d;"
"--weights:#a184f2;--load:#3fc0b2;--store:#ea74a3;--cpu:#83bd55}}\n"
"text{font:12px system-ui,'DejaVu Sans',sans-serif;fill:var(--dim)}\n"
"text.title{font-size:14px;font-weight:600;fill:var(--fg)}\n"
".end{text-anchor:end}.mid{text-anchor:middle}.small{font-size:10.5px}\n"
".paper{fill:var(--bg)}.axis{stroke:var(--line);fill:none}.band{fill:var(--band)}\n"
".band2{fill:var(--line)}.roof{stroke:var(--fg);stroke-width:2;fill:none}\n"
".use{fill:var(--compute)}path.compute,rect.compute{fill:var(--busy)}.dot{fill-opacity:.62;stroke-width:1}\n"
".compute{fill:var(--compute)}.stall{fill:var(--stall)}.control{fill:var(--control)}\n"
".weights{fill:var(--weights)}.load{fill:var(--load)}.store{fill:var(--store)}\n"
".cpu{fill:var(--cpu)}.wait{fill:var(--band)}.dot.compute{stroke:var(--compute)}\n"
".dot.weights{stroke:var(--weights)}.dot.load{stroke:var(--load)}"
".dot.control{stroke:var(--control)}\n"
".all{fill:none;stroke:var(--fg);stroke-width:2}.hit{fill:transparent}"
".hit:hover{fill:var(--fg);fill-opacity:.12}\n";

const char markup_page_style[] =
"body{background:var(--bg);color:var(--fg);font:14px/1.45 system-ui,'DejaVu Sans',sans-serif;"
"max-width:1120px;margin:24px auto;padding:0 16px}\n"
"h1{font-size:22px;margin:0;overflow-wrap:anywhere}p{color:var(--dim);margin:4px 0 16px}\n"
".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:10px;"
"margin:16px 0}\n"
".tile{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 12px}\n"
".tile b{display:block;font-size:18px;font-weight:600;white-space:nowrap}.tile span{color:var(--dim);font-size:12px}\n"
"svg{width:100%;height:auto;display:block;margin:8px 0 20px}\n"
"table{border-collapse:collapse;width:100%;font-size:12.5px;font-variant-numeric:tabular-nums}\n"
"th{position:sticky;top:0;background:var(--bg);color:var(--dim);font-weight:600;"
"border-bottom:2px solid var(--line);vertical-align:bottom}\n"
"th,td{padding:3px 8px;text-align:right}td{white-space:nowrap}\n"
"td{border-bottom:1px solid var(--line)}\n"
"th:nth-child(-n+3),td:nth-child(-n+3),th:last-child,td:last-child{text-align:left}\n"
"td:nth-child(3){max-width:280px;overflow:hidden;text-overflow:ellipsis}\n"
"td:nth-child(5){min-width:64px}tr.cpu td{color:var(--dim)}tr.sum td{font-weight:600;border-bottom:0}\n"
"dt{font-weight:600}dd{margin:0 0 6px 24px}h2{font-size:16px}code{overflow-wrap:anywhere}\n"
"i{display:inline-block;width:9px;height:9px;border-radius:5px;margin-right:6px}\n"
"i.compute{background:var(--compute)}i.weights{background:var(--weights)}"
"i.load{background:var(--load)}i.control{background:var(--control)}i.cpu{background:var(--cpu)}\n";

void markup_text(FILE *out, const char *text)
{
	static const char *const escapes[UCHAR_MAX + 1] = {
		['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;",
	};

	for (; *text; text++) {
		const char *escape = escapes[(unsigned char)*text];

		if (escape)
			fputs(escape, out);
		else
			fputc(*text, out);
	}
}

void markup_command(FILE *out, const char *command)
{
	char text[4096];

	fprintf(out, "<p>Made by libcnnrt %s: <code>", cnnrt_version());
	markup_text(out, clean(command, text, sizeof(text)));
	fputs("</code></p>\n", out);
}

const char *markup_bound_class(const struct cnnrt_cost *c)
{
	const char *bound = report_bound(c);

	return !strcmp(bound, "weight load") ? "weights" : !strcmp(bound, "data load") ? "load" :
	       bound;
}

void markup_ratio(FILE *out, const struct cnnrt_cost *c)
{
	uint64_t least = report_minimum(c);

	if (least)
		fprintf(out, "%.2f", (double)report_moved(c) / (double)least);
	else
		fputs("-", out);
}

void markup_tooltip(FILE *out, const struct report_layer *l)
{
	const struct cnnrt_cost *c = &l->cost;

	fputs("<title>", out);
	markup_text(out, l->op);
	fputs("  ", out);
	markup_text(out, l->name);
	fprintf(out, "\n%" PRIu64 " cycles, %.1f %% stalled\n%" PRIu64 " MACs, %.1f %% of the peak\n"
		"%.1f KiB moved, %s", c->cycles,
		c->cycles ? 100 * (double)c->stall / (double)c->cycles : 0, l->macs,
		100 * report_utilisation(l->macs, c->mac_peak),
		(double)report_moved(c) / 1024, report_minimum(c) ? "" : "none of it compulsory");
	if (report_minimum(c)) {
		markup_ratio(out, c);
		fputs(" of the minimum", out);
	}
	fprintf(out, "\nbound by %s</title>", report_bound(c));
}
