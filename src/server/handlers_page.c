/* Constant files: the operator's page and the description of the interface. */
#include "service.h"

pboost_status pboost_handle_page(request *r, pboost_error *err)
{
    (void)err;
    pboost_reply_lend(r, 200, "text/html; charset=utf-8", pboost_asset_page_html);
    return PBOOST_OK;
}

pboost_status pboost_handle_page_css(request *r, pboost_error *err)
{
    (void)err;
    pboost_reply_lend(r, 200, "text/css; charset=utf-8", pboost_asset_page_css);
    return PBOOST_OK;
}

pboost_status pboost_handle_page_js(request *r, pboost_error *err)
{
    (void)err;
    pboost_reply_lend(r, 200, "text/javascript; charset=utf-8", pboost_asset_page_js);
    return PBOOST_OK;
}

pboost_status pboost_handle_icon(request *r, pboost_error *err)
{
    (void)err;
    pboost_reply_lend(r, 200, "image/svg+xml", pboost_asset_icon_svg);
    return PBOOST_OK;
}

pboost_status pboost_handle_openapi(request *r, pboost_error *err)
{
    (void)err;
    pboost_reply_lend(r, 200, WIRE_JSON_TYPE, pboost_asset_openapi_json);
    return PBOOST_OK;
}
