/* The style sheets and the script, as text; made from the files beside this one by the build. */
#ifndef PBOOST_REPORT_ASSETS_H
#define PBOOST_REPORT_ASSETS_H

extern const char asset_chart_css[]; /* widths, dashes, fonts */
extern const char asset_light_css[]; /* fixed colours, for a file of its own */
extern const char asset_page_css[];
extern const char asset_page_js[];

#endif
